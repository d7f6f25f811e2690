/** The promise of a job, stored when the job is accepted. The promise is signed later: see `log/promises.ts`. */
import { insertOf, JOB } from '../by-column.ts';
import type { PromiseTimes } from '../records/inputs.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';

const insertPromise = insertOf('job_promises', [...JOB, 'answer_by', 'due_at']);

/** Stores the promise of a job; part of the transaction that accepts the job. */
export function recordPromise(db: StoreDatabase, promise: JobKey & PromiseTimes): void {
  insertPromise.send(db, promise);
}
