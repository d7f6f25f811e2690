/** Turns a job's columns into the values that the store returns, for every function that reads jobs. */

import { JOB, same } from '../by-column.ts';
import type { JobSummary } from '../records/rows.ts';
import type { JobTable, StoreDatabase } from '../schema.ts';

/** The columns of a job without its large members. */
export const SUMMARY_COLUMNS = [
  'jobs.tenant',
  'jobs.job_id',
  'jobs.status',
  'jobs.language',
  'jobs.runtime',
  'jobs.created_at',
  'jobs.started_at',
  'jobs.finished_at',
  'jobs.duration_ms',
  'jobs.exit_code',
  'jobs.signal',
  'jobs.terminal_reason',
  'jobs.cancellation_requested',
  'jobs.truncated',
  'jobs.labels',
  'jobs.first_line',
] as const;

/** A row of `summaries`. Its booleans are still numbers. */
export type SummaryColumns = Omit<JobTable, 'chain_seq' | 'chain_head' | 'tenant_number'> & {
  readonly attestation_available: number;
};

/** Jobs without their large members, and whether each is attested. */
export function summaries(db: StoreDatabase) {
  return db
    .selectFrom('jobs')
    .leftJoin('attestations', (join) => join.on(same(JOB, 'attestations', 'jobs')))
    .select(SUMMARY_COLUMNS)
    .select((expression) =>
      expression
        .case()
        .when('attestations.job_id', 'is', null)
        .then(expression.lit(0))
        .else(expression.lit(1))
        .end()
        .as('attestation_available'),
    );
}

export function summaryOf({ labels, first_line, ...columns }: SummaryColumns): JobSummary {
  return {
    ...columns,
    ...(labels !== null && { labels: JSON.parse(labels) as readonly string[] }),
    ...(first_line !== null && { first_line }),
    cancellation_requested: columns.cancellation_requested === 1,
    truncated: columns.truncated === 1,
    attestation_available: columns.attestation_available === 1,
  };
}
