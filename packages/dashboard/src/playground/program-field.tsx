/** The program's source. The editor is loaded when it is first shown; until it is there, a plain field takes what is typed. */
import { lazy, Suspense } from 'react';
import { editDraft } from '../draft/draft.ts';
import type { Draft } from '../draft/draft-submission.ts';

const Editor = lazy(async () => ({ default: (await import('./editor.tsx')).Editor }));

interface ProgramFieldProps {
  readonly draft: Draft;
  readonly onRun: () => void;
}

export function ProgramField({ draft: { code, language }, onRun }: ProgramFieldProps) {
  const edit = (next: string) => editDraft({ code: next });
  const plain = (
    <textarea
      className="input playground-plain"
      aria-label="Program"
      spellCheck={false}
      value={code}
      onChange={(event) => edit(event.target.value)}
    />
  );
  return (
    <Suspense fallback={plain}>
      <Editor language={language} text={code} onChange={edit} onRun={onRun} />
    </Suspense>
  );
}
