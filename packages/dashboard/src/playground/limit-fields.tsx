/** The job's limits. An empty field means the default. The service clamps a number beyond the ceiling. */
import type { Capabilities } from '@vouchbox/client';
import { LIMIT_CEILINGS, LIMIT_DEFAULTS, LIMIT_NAMES } from '@vouchbox/protocol/vocabulary';
import { LIMIT_WORDS } from '@vouchbox/protocol/words';
import { useId } from 'react';
import { editDraft } from '../draft/draft.ts';
import type { Draft } from '../draft/draft-submission.ts';

interface LimitFieldsProps extends Pick<Draft, 'limits' | 'enforced'> {
  readonly bounds: Capabilities['limits'] | undefined;
}

export function LimitFields({ limits, enforced, bounds }: LimitFieldsProps) {
  const id = useId();
  const { defaults = LIMIT_DEFAULTS, ceilings = LIMIT_CEILINGS } = bounds ?? {};
  return (
    <fieldset className="limits">
      <legend className="field-label">Limits</legend>
      {LIMIT_NAMES.map((name) => (
        <div className="limit" key={name}>
          <label className="small" htmlFor={`${id}-${name}`}>
            {LIMIT_WORDS[name]}
          </label>
          <input
            id={`${id}-${name}`}
            className="input"
            type="number"
            inputMode="decimal"
            min={0}
            max={ceilings[name]}
            step="any"
            placeholder={String(defaults[name])}
            value={limits[name] ?? ''}
            onChange={(event) => editDraft({ limits: { ...limits, [name]: numberOf(event.target.value) } })}
          />
          <span className="small soft">
            of {ceilings[name]}
            {enforced.includes(name) && ', held by the host'}
          </span>
        </div>
      ))}
    </fieldset>
  );
}

function numberOf(text: string): number | null {
  const value = Number(text);
  return text === '' || Number.isNaN(value) ? null : value;
}
