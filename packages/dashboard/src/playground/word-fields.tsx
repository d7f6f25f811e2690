/** Input, arguments, variables and the files to bring back. */
import { printable } from '@vouchbox/protocol/vocabulary';
import { useId } from 'react';
import { type Draft, editDraft } from '../draft/draft.ts';

const FIELDS = [
  { name: 'stdin', label: 'stdin', hint: 'Text that the program reads.', rows: 3 },
  { name: 'args', label: 'Arguments', hint: 'One a line.', rows: 2 },
  { name: 'env', label: 'Variables', hint: 'One NAME=VALUE a line. They are stored with the job.', rows: 2 },
  { name: 'outputs', label: 'Files to bring back', hint: 'Paths or patterns, one a line.', rows: 2 },
  { name: 'large', label: 'Large outputs', hint: 'Paths, one a line; up to 64 MiB together.', rows: 1 },
  { name: 'stdout', label: 'File for all of stdout', hint: 'A path, such as output/stdout.', rows: 1 },
] as const;

export function WordFields({ draft }: { readonly draft: Draft }) {
  const id = useId();
  return FIELDS.map(({ name, label, hint, rows }) => (
    <div className="field" key={name}>
      <label htmlFor={`${id}-${name}`}>{label}</label>
      <textarea
        id={`${id}-${name}`}
        className="input"
        rows={rows}
        spellCheck={false}
        value={draft[name]}
        onChange={(event) => editDraft({ [name]: event.target.value })}
        aria-describedby={`${id}-${name}-hint`}
      />
      <p className="field-hint" id={`${id}-${name}-hint`}>
        {name === 'stdin' && draft.namedStdin !== null ? `${nameOf(draft.namedStdin)}, unless text is typed.` : hint}
      </p>
    </div>
  ));
}

function nameOf(stdin: NonNullable<Draft['namedStdin']>): string {
  return 'from' in stdin ? `${printable(stdin.from.path)} of ${stdin.from.job_id}` : stdin.blob;
}
