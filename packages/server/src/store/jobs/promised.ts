/** The promise of a job, written when it is accepted. It is signed later: see `log/promises.ts`. */
import { insertOf, JOB } from '../by-column.ts';
import type { PromiseTimes } from '../records/inputs.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';

const insertPromise = insertOf('job_promises', [...JOB, 'answer_by', 'due_at']);

/** Promises a job; part of the transaction that accepts it. */
export function recordPromise(db: StoreDatabase, promise: JobKey & PromiseTimes): void {
  insertPromise.send(db, promise);
}
