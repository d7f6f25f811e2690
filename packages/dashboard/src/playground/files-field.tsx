/** Input files, dropped or chosen. The program finds each as `input/NAME`. */
import type { InputFile, OutputFile, UploadedFile } from '@vouchbox/client';
import { encodeBase64 } from '@vouchbox/evidence';
import { fileBytesMax, filesMax, filesTotalBytesMax, pathProblem, printable } from '@vouchbox/protocol/vocabulary';
import { sizeOf } from '@vouchbox/protocol/words';
import { type DragEvent, useState } from 'react';
import { editDraft } from '../draft/draft.ts';
import { ChooseFiles } from '../parts/choose-files.tsx';

type DraftFile = InputFile | UploadedFile | OutputFile;

export function FilesField({ files }: { readonly files: readonly DraftFile[] }) {
  const [problem, setProblem] = useState<string | null>(null);
  const add = async (chosen: readonly File[]) => {
    const read = await Promise.all(chosen.map(readFile));
    const added = read.filter((one) => typeof one !== 'string');
    const paths = new Set(added.map(({ path }) => path));
    // Other files may have been added while these were being read.
    editDraft(({ files: before }) => {
      const next = [...before.filter(({ path }) => !paths.has(path)), ...added];
      const refused = read.find((one) => typeof one === 'string') ?? totalProblem(next);
      setProblem(refused);
      return refused === null ? { files: next } : {};
    });
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    void add([...event.dataTransfer.files]);
  };
  return (
    <fieldset className="drop stack" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <legend className="field-label">Input files</legend>
      {files.length === 0 && <p className="field-hint">Drop files here, or choose them.</p>}
      <ul className="stack-small">
        {files.map(({ path, ...content }) => (
          <li key={path} className="row">
            <code className="drop-name">{printable(path, 80)}</code>
            <span className="small soft">{'content_base64' in content ? sizeOf(sizeInline(content)) : 'stored'}</span>
            <button
              className="button plain"
              type="button"
              aria-label={`Remove ${printable(path, 80)}`}
              onClick={() => editDraft({ files: files.filter((file) => file.path !== path) })}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      <ChooseFiles label="Choose files" className="button" multiple onChoose={(chosen) => void add(chosen)} />
      {problem !== null && (
        <p className="field-error" role="alert">
          {problem}
        </p>
      )}
    </fieldset>
  );
}

/** The file in the form for a submission, or why it cannot be sent. */
async function readFile(file: File): Promise<InputFile | string> {
  const path = `input/${file.name}`;
  const name = printable(file.name, 80);
  const fault = pathProblem(path, 'input');
  if (fault !== null) return `${name}: its path ${fault}.`;
  if (file.size > fileBytesMax) return `${name} is larger than ${sizeOf(fileBytesMax)}.`;
  const bytes = await file.arrayBuffer().catch(() => null);
  if (bytes === null) return `${name} cannot be read.`;
  return { path, content_base64: encodeBase64(new Uint8Array(bytes)) };
}

function totalProblem(files: readonly DraftFile[]): string | null {
  if (files.length > filesMax) return `A job takes at most ${filesMax} files.`;
  const bytes = files.reduce((sum, file) => sum + ('content_base64' in file ? sizeInline(file) : 0), 0);
  return bytes > filesTotalBytesMax ? `All files together may have ${sizeOf(filesTotalBytesMax)}.` : null;
}

/** The number of bytes in a file that is given in base64 with padding. */
function sizeInline({ content_base64: text }: Pick<InputFile, 'content_base64'>): number {
  return (text.length / 4) * 3 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);
}
