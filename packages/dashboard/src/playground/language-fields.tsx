/** The language, the runtime pack and the weakest isolation that will do. Only what the service offers can be chosen. */
import type { Capabilities, IsolationClass } from '@vouchbox/client';
import { ISOLATION_CLASSES, LANGUAGES, printable } from '@vouchbox/protocol/vocabulary';
import { useId } from 'react';
import { chooseLanguage, type Draft, editDraft } from '../draft/draft.ts';

interface LanguageFieldsProps {
  readonly draft: Draft;
  /** Undefined until the service has said what it can do. */
  readonly capabilities: Capabilities | undefined;
}

export function LanguageFields({ draft, capabilities }: LanguageFieldsProps) {
  const id = useId();
  const offered = new Set<string>(capabilities?.languages ?? LANGUAGES);
  const packs = capabilities?.runtime_packs.filter(({ languages }) =>
    languages.some((name) => name === draft.language),
  );
  return (
    <div className="playground-choices">
      <div className="field">
        <label htmlFor={`${id}-language`}>Language</label>
        <select
          id={`${id}-language`}
          className="input"
          value={draft.language}
          onChange={(event) => chooseLanguage(event.target.value)}
        >
          {LANGUAGES.map((name) => (
            <option key={name} value={name} disabled={!offered.has(name)}>
              {offered.has(name) ? name : `${name} (not here)`}
            </option>
          ))}
        </select>
      </div>
      <div className="field">
        <label htmlFor={`${id}-runtime`}>Runtime</label>
        <select
          id={`${id}-runtime`}
          className="input"
          value={draft.runtime ?? ''}
          onChange={(event) => editDraft({ runtime: event.target.value || null })}
        >
          <option value="">the default</option>
          {packs?.map(({ name }) => (
            <option key={name} value={name}>
              {printable(name, 60)}
            </option>
          ))}
        </select>
      </div>
      <div className="field">
        <label htmlFor={`${id}-isolation`}>Minimum isolation</label>
        <select
          id={`${id}-isolation`}
          className="input"
          value={draft.minimum_isolation ?? ''}
          onChange={(event) => editDraft({ minimum_isolation: (event.target.value || null) as IsolationClass | null })}
        >
          <option value="">what the service has</option>
          {ISOLATION_CLASSES.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </div>
    </div>
  );
}
