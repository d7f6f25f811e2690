/** Finds a job by its id, or jobs by a label. A part of an id narrows the list of loaded jobs; a whole id opens the job. */

import { type SubmitEvent, useId } from 'react';
import { useLocation } from 'wouter';

interface JobSearchProps {
  readonly sought: string;
  readonly onSeek: (sought: string) => void;
  readonly onLabel: (label: string) => void;
}

/** The form of every id. Apart from it, ids are opaque. */
const JOB_ID = /^job_[\w-]{8,}$/;

export function JobSearch({ sought, onSeek, onLabel }: JobSearchProps) {
  const id = useId();
  const [, open] = useLocation();
  const word = sought.trim();
  const isWhole = JOB_ID.test(word);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isWhole) open(`/jobs/${word}`);
    else if (word !== '') onLabel(word);
  };
  return (
    <form className="row job-search" onSubmit={submit}>
      <label className="hidden-visually" htmlFor={id}>
        Job id or label
      </label>
      <input
        id={id}
        className="input mono"
        type="search"
        placeholder="Find by job id or label"
        autoComplete="off"
        spellCheck={false}
        value={sought}
        onChange={(event) => onSeek(event.target.value)}
      />
      <button className="button" type="submit">
        {isWhole ? 'Open job' : 'Show label'}
      </button>
    </form>
  );
}
