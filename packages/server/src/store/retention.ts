/** Removes what is older than the operator wants to keep: whole terminal jobs, a few at a time. */
import { prepared } from './prepared.ts';
import type { LedgerDatabase } from './schema.ts';
import type { JobKey } from './store.ts';

interface Step {
  readonly before: string;
  readonly limit: number;
}

function ended(db: LedgerDatabase, { before, limit }: Step) {
  return db
    .selectFrom('jobs')
    .select(['tenant', 'job_id'])
    .where('finished_at', 'is not', null)
    .where('finished_at', '<', before)
    .orderBy('finished_at')
    .limit(limit);
}

const selectEnded = {
  removed: prepared(ended),
  kept: prepared((db, step: Step) =>
    ended(db, step).where((row) =>
      row.not(
        row.exists(
          row
            .selectFrom('attestation_outbox')
            .select('attestation_outbox.job_id')
            .whereRef('attestation_outbox.tenant', '=', 'jobs.tenant')
            .whereRef('attestation_outbox.job_id', '=', 'jobs.job_id'),
        ),
      ),
    ),
  ),
};

const deleteJob = prepared((db, { tenant, job_id }: JobKey) =>
  db.deleteFrom('jobs').where('tenant', '=', tenant).where('job_id', '=', job_id),
);

/** See `Store.deleteEnded`. Everything of a job refers to its row and goes with it. */
export async function deleteEnded(
  db: LedgerDatabase,
  { unattested, ...step }: Step & { readonly unattested: keyof typeof selectEnded },
): Promise<number> {
  const old = await selectEnded[unattested].all(db, step);
  for (const key of old) await deleteJob.run(db, key);
  return old.length;
}
