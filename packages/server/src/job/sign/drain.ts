/**
 * Attests all jobs in the outbox that are due. Batches overlap: while one batch is signed, the next is read and the
 * previous one is stored, so that only signing limits the speed. After a crash, the jobs are still in the outbox, and
 * signing them again makes the same bytes.
 */

import type { OutboxEntry } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import { attestBatch, type BatchOptions } from './attest-batch.ts';

export interface DrainOptions extends BatchOptions {
  readonly store: BatchOptions['store'] & Pick<Store, 'outbox'>;
  /** Once this signal aborts, no further batch is begun. */
  readonly signal: AbortSignal;
}

const batchJobsMax = 64;
/** The most batches at a time: one that is read, one that is signed and one that is stored. */
const batchesMax = 3;
/** How many jobs are looked up at once, enough for several batches. */
const lookJobsMax = 512;

/**
 * Attests jobs until none is due. A job that cannot be attested is postponed and does not delay the others.
 *
 * @throws an error that concerns every job, once all batches in progress are over.
 */
export async function drainOutbox(options: DrainOptions): Promise<void> {
  const taken = new Set<string>();
  const batches = new Set<Promise<void>>();
  const failures: unknown[] = [];
  let due: readonly OutboxEntry[] = [];
  /** Whether more jobs may be due than were read. Jobs that enter the outbox meanwhile wait for the next call. */
  let isMore = true;
  while (failures.length === 0 && !options.signal.aborted) {
    if (due.length === 0 && isMore) ({ due, isMore } = await dueEntries(options.store, taken));
    // If a batch failed while the outbox was read, its jobs are due again, and no further batch is begun.
    if (failures.length > 0) break;
    if (due.length === 0 && batches.size === 0) return;
    if (due.length === 0 || batches.size >= batchesMax) {
      await Promise.race(batches);
      continue;
    }
    const entries = due.slice(0, batchJobsMax);
    due = due.slice(batchJobsMax);
    for (const { job_id } of entries) taken.add(job_id);
    const batch = attestBatch(entries, options)
      .then((isWhole) => {
        if (!isWhole) isMore = true;
      })
      .catch((error: unknown) => void failures.push(error))
      .finally(() => {
        for (const { job_id } of entries) taken.delete(job_id);
        batches.delete(batch);
      });
    batches.add(batch);
  }
  await Promise.all(batches);
  if (failures.length > 0) throw failures[0];
}

/** The first jobs in the outbox that are in no batch yet, and whether there may be more. */
async function dueEntries(
  store: DrainOptions['store'],
  taken: ReadonlySet<string>,
): Promise<{ due: readonly OutboxEntry[]; isMore: boolean }> {
  const now = new Date().toISOString();
  const limit = taken.size + lookJobsMax;
  const found = await store.outbox({ now, limit });
  return { due: found.filter(({ job_id }) => !taken.has(job_id)), isMore: found.length === limit };
}
