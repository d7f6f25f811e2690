/** Fields for the language, the runtime pack, the weakest accepted isolation and hash seeds. They show only what is offered. */
import type { Capabilities, IsolationClass } from '@vouchbox/client';
import { ISOLATION_CLASSES, LANGUAGES, printable } from '@vouchbox/protocol/vocabulary';
import { type ReactNode, useId } from 'react';
import { chooseLanguage, editDraft } from '../draft/draft.ts';
import type { Draft } from '../draft/draft-submission.ts';

interface LanguageFieldsProps {
  readonly draft: Draft;
  /** Undefined until the service has answered. */
  readonly capabilities: Capabilities | undefined;
}

export function LanguageFields({ draft, capabilities }: LanguageFieldsProps) {
  const offered = new Set<string>(capabilities?.languages ?? LANGUAGES);
  const packs = capabilities?.runtime_packs.filter(({ languages }) =>
    languages.some((name) => name === draft.language),
  );
  return (
    <div className="playground-choices">
      <Choice label="Language" value={draft.language} onChoose={chooseLanguage}>
        {LANGUAGES.filter((name) => offered.has(name) || name === draft.language).map((name) => (
          <option key={name} value={name}>
            {offered.has(name) ? name : `${name} (not here)`}
          </option>
        ))}
      </Choice>
      <Choice label="Runtime" value={draft.runtime} onChoose={(name) => editDraft({ runtime: name || null })}>
        <option value="">the default</option>
        {packs?.map(({ name }) => (
          <option key={name} value={name}>
            {printable(name, 60)}
          </option>
        ))}
      </Choice>
    </div>
  );
}

/** The weakest isolation that is accepted. */
export function IsolationField({ draft }: Pick<LanguageFieldsProps, 'draft'>) {
  return (
    <Choice
      label="Minimum isolation"
      value={draft.minimum_isolation}
      onChoose={(name) => editDraft({ minimum_isolation: (name || null) as IsolationClass | null })}
    >
      <option value="">what the service has</option>
      {ISOLATION_CLASSES.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </Choice>
  );
}

/** Whether Python and Perl choose new hash seeds at each start. */
export function SeedsField({ draft }: Pick<LanguageFieldsProps, 'draft'>) {
  return (
    <Choice
      label="Hash seeds"
      value={draft.reproducible ? 'fixed' : null}
      onChoose={(seeds) => editDraft({ reproducible: seeds === 'fixed' })}
    >
      <option value="">drawn at each start</option>
      <option value="fixed">fixed, so that runs can be compared</option>
    </Choice>
  );
}

interface ChoiceProps {
  readonly label: string;
  /** The chosen value; null for the option without a value. */
  readonly value: string | null;
  readonly onChoose: (value: string) => void;
  readonly children: ReactNode;
}

function Choice({ label, value, onChoose, children }: ChoiceProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} className="input" value={value ?? ''} onChange={(event) => onChoose(event.target.value)}>
        {children}
      </select>
    </div>
  );
}
