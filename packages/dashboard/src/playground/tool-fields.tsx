/** The tools that the program may call. The calls appear beside the output, where a person answers them by hand. */
import { useId } from 'react';
import { editDraft } from '../draft/draft.ts';
import type { DraftTool } from '../draft/draft-submission.ts';
import { typedJson } from '../draft/typed-json.ts';

const NEW: DraftTool = { name: '', description: '', arguments: '', result: '' };

const FIELDS = [
  { member: 'description', label: 'What it does', rows: 1 },
  { member: 'arguments', label: 'Schema of its arguments', rows: 3 },
  { member: 'result', label: 'Schema of its result', rows: 3 },
] as const;

export function ToolFields({ tools }: { readonly tools: readonly DraftTool[] }) {
  return (
    <fieldset className="stack-small">
      <legend className="field-label">Tools</legend>
      <p className="field-hint">
        Functions that the program calls, as in <code>tools.search(query="…")</code>. You answer each call by hand.
      </p>
      {tools.map((tool, place) => (
        <ToolField
          key={place}
          tool={tool}
          onEdit={(edited) => editDraft({ tools: tools.with(place, edited) })}
          onRemove={() => editDraft({ tools: tools.toSpliced(place, 1) })}
        />
      ))}
      <div className="row">
        <button className="button" type="button" onClick={() => editDraft({ tools: [...tools, NEW] })}>
          Add a tool
        </button>
      </div>
    </fieldset>
  );
}

interface ToolFieldProps {
  readonly tool: DraftTool;
  readonly onEdit: (tool: DraftTool) => void;
  readonly onRemove: () => void;
}

function ToolField({ tool, onEdit, onRemove }: ToolFieldProps) {
  const id = useId();
  return (
    <div className="tool stack-small">
      <div className="tool-name">
        <input
          className="input mono"
          aria-label="Name of the tool"
          placeholder="search"
          autoComplete="off"
          spellCheck={false}
          value={tool.name}
          onChange={(event) => onEdit({ ...tool, name: event.target.value })}
        />
        <button className="button plain" type="button" aria-label={`Remove the tool ${tool.name}`} onClick={onRemove}>
          Remove
        </button>
      </div>
      <details>
        <summary className="small soft">Description and schemas</summary>
        {FIELDS.map(({ member, label, rows }) => (
          <div className="field" key={member}>
            <label htmlFor={`${id}-${member}`}>{label}</label>
            <textarea
              id={`${id}-${member}`}
              className="input"
              rows={rows}
              spellCheck={member === 'description'}
              value={tool[member]}
              aria-invalid={problemOf(member, tool[member]) !== ''}
              aria-describedby={`${id}-${member}-problem`}
              onChange={(event) => onEdit({ ...tool, [member]: event.target.value })}
            />
            <p className="field-error" id={`${id}-${member}-problem`}>
              {problemOf(member, tool[member])}
            </p>
          </div>
        ))}
      </details>
    </div>
  );
}

function problemOf(member: (typeof FIELDS)[number]['member'], text: string): string {
  if (member === 'description' || text.trim() === '') return '';
  const typed = typedJson(text);
  return 'problem' in typed ? `This ${typed.problem}.` : '';
}
