/** Finds a job by its id. A part of an id narrows the jobs that were loaded; a whole one opens its job. */

import { type SubmitEvent, useId } from 'react';
import { useLocation } from 'wouter';

interface JobSearchProps {
  readonly sought: string;
  readonly onSeek: (sought: string) => void;
}

/** Ids are opaque. This is only the form that every id has. */
const JOB_ID = /^job_[\w-]{8,}$/;

export function JobSearch({ sought, onSeek }: JobSearchProps) {
  const id = useId();
  const [, open] = useLocation();
  const isWhole = JOB_ID.test(sought);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isWhole) open(`/jobs/${sought}`);
  };
  return (
    <form className="row job-search" onSubmit={submit}>
      <label className="hidden-visually" htmlFor={id}>
        Job id
      </label>
      <input
        id={id}
        className="input mono"
        type="search"
        placeholder="Find by job id"
        autoComplete="off"
        spellCheck={false}
        value={sought}
        onChange={(event) => onSeek(event.target.value.trim())}
      />
      <button className="button" type="submit" disabled={!isWhole}>
        Open job
      </button>
    </form>
  );
}
