/** The promise of a job, written when it is accepted. It is signed later: see `log/promises.ts`. */
import { prepared } from '../prepared.ts';
import type { PromiseTimes } from '../records/inputs.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';

const insertPromise = prepared((db, row: JobKey & PromiseTimes) =>
  db.insertInto('job_promises').values({
    tenant: row.tenant,
    job_id: row.job_id,
    answer_by: row.answer_by,
    due_at: row.due_at,
    key_id: null,
    envelope: null,
  }),
);

/** Promises a job; part of the transaction that accepts it. */
export function recordPromise(db: StoreDatabase, promise: JobKey & PromiseTimes): void {
  insertPromise.send(db, promise);
}
