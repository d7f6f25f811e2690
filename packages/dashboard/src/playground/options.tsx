/** The options that most runs leave alone. This part is open if an option was given, so that no option acts unnoticed. */
import type { Capabilities } from '@vouchbox/client';
import { printable } from '@vouchbox/protocol/vocabulary';
import { useState } from 'react';
import { editDraft, usualOutputs } from '../draft/draft.ts';
import type { Draft } from '../draft/draft-submission.ts';
import { FilesField } from './files-field.tsx';
import { IsolationField, SeedsField } from './language-fields.tsx';
import { LimitFields } from './limit-fields.tsx';
import { ToolFields } from './tool-fields.tsx';
import { WordField } from './word-fields.tsx';

interface OptionsProps {
  readonly draft: Draft;
  /** Undefined until the service has answered. */
  readonly capabilities: Capabilities | undefined;
}

const WORDS = ['args', 'env', 'outputs', 'large', 'stdout', 'labels'] as const;

export function Options({ draft, capabilities }: OptionsProps) {
  const given = givenIn(draft);
  const [isOpen, setOpen] = useState(given.length > 0);
  return (
    <details className="playground-options" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        Options{' '}
        <span className="small soft">{given.length > 0 ? given.join(', ') : 'arguments, files, tools, limits'}</span>
      </summary>
      <div className="playground-fields">
        {WORDS.map((name) => (
          <WordField key={name} name={name} draft={draft} />
        ))}
        <IsolationField draft={draft} />
        <SeedsField draft={draft} />
        <FilesField files={draft.files} />
        {capabilities?.tools && <ToolFields tools={draft.tools} />}
        <LimitFields limits={draft.limits} enforced={draft.enforced} bounds={capabilities?.limits} />
        <Others others={draft.others} />
      </div>
    </details>
  );
}

/** Members of the edited submission that have no field. */
function Others({ others }: Pick<Draft, 'others'>) {
  const given = Object.entries(others);
  const without = (left: string) => Object.fromEntries(given.filter(([name]) => name !== left));
  return given.map(([name, value]) => (
    <div key={name} className="row">
      <code className="small">
        {name}: {printable(JSON.stringify(value), 120)}
      </code>
      <button className="button plain" type="button" onClick={() => editDraft({ others: without(name) })}>
        Leave out {name}
      </button>
    </div>
  ));
}

/** The names of the options that were given. */
function givenIn(draft: Draft): readonly string[] {
  const { args, env, outputs, large, stdout, labels, reproducible, files, tools, limits, enforced } = draft;
  const given: readonly (readonly [isGiven: boolean, name: string])[] = [
    [args !== '', 'arguments'],
    [env !== '', 'variables'],
    [outputs !== usualOutputs, 'files to bring back'],
    [large !== '' || stdout !== '', 'large outputs'],
    [labels !== '', 'labels'],
    [draft.minimum_isolation !== null, 'isolation'],
    [reproducible, 'hash seeds'],
    [files.length > 0, 'files'],
    [tools.length > 0, 'tools'],
    [enforced.length > 0 || Object.values(limits).some((limit) => limit !== null), 'limits'],
  ];
  return [...given.flatMap(([isGiven, name]) => (isGiven ? [name] : [])), ...Object.keys(draft.others)];
}
