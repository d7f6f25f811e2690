/** Chooses the statuses, the language, the label and the span of time that the list shows. */
import { Toggle } from '@base-ui/react/toggle';
import { ToggleGroup } from '@base-ui/react/toggle-group';
import type { JobStatus, Language } from '@vouchbox/client';
import { JOB_STATUSES, LANGUAGES, printable } from '@vouchbox/protocol/vocabulary';
import { useId } from 'react';
import { type Filters, isSince, type Since } from './filters.ts';

const TIMES: readonly (readonly [Since, string])[] = [
  ['hour', 'The last hour'],
  ['day', 'The last 24 hours'],
  ['week', 'The last 7 days'],
  ['month', 'The last 30 days'],
];

interface JobFiltersProps {
  readonly filters: Filters;
  readonly onChange: (filters: Filters) => void;
}

export function JobFilters({ filters, onChange }: JobFiltersProps) {
  const id = useId();
  const { status = [], language, label, since } = filters;
  return (
    <>
      <ToggleGroup
        className="job-statuses"
        multiple
        aria-label="Statuses"
        value={[...status]}
        onValueChange={(next: JobStatus[]) => onChange({ ...filters, status: next.length > 0 ? next : undefined })}
      >
        {JOB_STATUSES.map((name) => (
          <Toggle key={name} value={name} className="job-status mono">
            {name}
          </Toggle>
        ))}
      </ToggleGroup>
      <label className="hidden-visually" htmlFor={id}>
        Language
      </label>
      <select
        id={id}
        className="input job-language"
        value={language ?? ''}
        onChange={(event) =>
          onChange({ ...filters, language: (event.target.value || undefined) as Language | undefined })
        }
      >
        <option value="">All languages</option>
        {LANGUAGES.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <select
        className="input job-language"
        aria-label="Time"
        value={since ?? ''}
        onChange={({ target }) => onChange({ ...filters, since: isSince(target.value) ? target.value : undefined })}
      >
        <option value="">Any time</option>
        {TIMES.map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
      {label !== undefined && (
        <button className="button" type="button" onClick={() => onChange({ ...filters, label: undefined })}>
          Label {printable(label)}: show all
        </button>
      )}
    </>
  );
}
