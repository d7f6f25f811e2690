/** One job in the list. */

import type { JobListItem } from '@vouchbox/client';
import { durationOf } from '@vouchbox/protocol/words';
import { Link } from 'wouter';
import { Moment } from '../parts/moment.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { Labels } from './labels.tsx';

interface JobRowProps {
  readonly job: JobListItem;
  readonly index: number;
  /** The distance from the first row, in pixels. */
  readonly offset: number;
}

export function JobRow({ job, index, offset }: JobRowProps) {
  const { job_id, status, language, created_at, duration_ms, exit_code, labels = [], first_line } = job;
  return (
    <div role="row" aria-rowindex={index + 2} className="job-row job-body" style={{ translate: `0 ${offset}px` }}>
      <span role="cell">
        <StatusBadge status={status} />
      </span>
      <span role="cell" className="job-id">
        <Link href={`/jobs/${job_id}`} className="mono">
          {job_id}
        </Link>
      </span>
      <span role="cell" className="job-program mono">
        <span className="job-labels">
          <Labels labels={labels} />
        </span>
        <span className="job-first">{first_line}</span>
      </span>
      <span role="cell">{language}</span>
      <span role="cell" className="soft">
        <Moment at={created_at} />
      </span>
      <span role="cell" className="number">
        {durationOf(duration_ms)}
      </span>
      <span role="cell" className="number soft">
        {exit_code ?? '—'}
      </span>
    </div>
  );
}
