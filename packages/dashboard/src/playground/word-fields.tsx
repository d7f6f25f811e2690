/** A text field: for input, arguments, variables or the files to bring back. */
import { largeOutputsBytesMax, printable } from '@vouchbox/protocol/vocabulary';
import { sizeOf } from '@vouchbox/protocol/words';
import { useId } from 'react';
import { editDraft } from '../draft/draft.ts';
import type { Draft } from '../draft/draft-submission.ts';

const FIELDS = {
  stdin: { label: 'stdin', hint: 'Text that the program reads.', rows: 1 },
  args: { label: 'Arguments', hint: 'One a line; or in double quotes as JSON, such as "two\\nlines".', rows: 2 },
  env: { label: 'Variables', hint: 'One NAME=VALUE a line; or NAME="VALUE" as JSON. They are stored.', rows: 2 },
  outputs: { label: 'Files to bring back', hint: 'Paths or patterns, one a line.', rows: 2 },
  large: { label: 'Large outputs', hint: 'Paths, one a line; together up to ', rows: 2 },
  stdout: { label: 'File for all of stdout', hint: 'A path, such as output/stdout.', rows: 1 },
  labels: { label: 'Labels', hint: 'Words by which the list finds the job, one a line.', rows: 2 },
} as const;

export function WordField({ name, draft }: { readonly name: keyof typeof FIELDS; readonly draft: Draft }) {
  const id = useId();
  const { label, hint, rows } = FIELDS[name];
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        className="input"
        rows={rows}
        spellCheck={false}
        value={draft[name]}
        onChange={(event) => editDraft({ [name]: event.target.value })}
        aria-describedby={`${id}-hint`}
      />
      <p className="field-hint" id={`${id}-hint`}>
        {name === 'stdin' && draft.namedStdin ? `${nameOf(draft.namedStdin)}, unless text is typed.` : hint}
        {name === 'large' && `${sizeOf(draft.large_bytes ?? largeOutputsBytesMax)}.`}
      </p>
    </div>
  );
}

function nameOf(stdin: Exclude<Draft['namedStdin'], '' | null>): string {
  return 'from' in stdin ? `${printable(stdin.from.path)} of ${stdin.from.job_id}` : stdin.blob;
}
