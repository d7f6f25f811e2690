/** The options that most runs leave as they are. They are open if one of them was given, so that none takes effect unseen. */
import type { Capabilities } from '@vouchbox/client';
import { useState } from 'react';
import type { Draft } from '../draft/draft-submission.ts';
import { FilesField } from './files-field.tsx';
import { IsolationField, SeedsField } from './language-fields.tsx';
import { LimitFields } from './limit-fields.tsx';
import { ToolFields } from './tool-fields.tsx';
import { WordField } from './word-fields.tsx';

interface OptionsProps {
  readonly draft: Draft;
  /** Undefined until the service has said what it can do. */
  readonly capabilities: Capabilities | undefined;
}

const WORDS = ['args', 'env', 'outputs', 'large', 'stdout'] as const;

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
      </div>
    </details>
  );
}

/** The names of the options that were given. */
function givenIn(draft: Draft): readonly string[] {
  const { args, env, large, stdout, minimum_isolation, reproducible, files, tools, limits, enforced } = draft;
  const given: readonly (readonly [isGiven: boolean, name: string])[] = [
    [args !== '', 'arguments'],
    [env !== '', 'variables'],
    [large !== '' || stdout !== '', 'large outputs'],
    [minimum_isolation !== null, 'isolation'],
    [reproducible, 'hash seeds'],
    [files.length > 0, 'files'],
    [tools.length > 0, 'tools'],
    [enforced.length > 0 || Object.values(limits).some((limit) => limit !== null), 'limits'],
  ];
  return given.flatMap(([isGiven, name]) => (isGiven ? [name] : []));
}
