/**
 * Empties the outbox as far as it is due. Batches follow each other closely: while one is signed, the next is read and the
 * one before is stored, so that a long backlog goes as fast as signing does. Whatever dies in between is still in the
 * outbox, and signing it again makes the same bytes.
 */

import type { OutboxEntry } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { attestBatch, type BatchOptions } from './attest-batch.ts';

export interface DrainOptions extends BatchOptions {
  readonly store: BatchOptions['store'] & Pick<Store, 'outbox'>;
  /** Aborts when no further batch is to be begun. */
  readonly signal: AbortSignal;
}

const batchJobsMax = 64;
/** One is read, one signed and one stored at a time. */
const batchesMax = 3;
/** Jobs that are looked up at once, for several batches. */
const lookJobsMax = 512;

/**
 * Attests what is due until nothing is left. A job that cannot be attested is put off and does not hold up the others.
 *
 * @throws what keeps every job from being attested, once the batches that were begun are over.
 */
export async function drainOutbox(options: DrainOptions): Promise<void> {
  const taken = new Set<string>();
  const batches = new Set<Promise<void>>();
  const failures: unknown[] = [];
  let due: readonly OutboxEntry[] = [];
  /** Whether more than what was read may be due. What comes into the outbox meanwhile is for the next time. */
  let isMore = true;
  while (failures.length === 0 && !options.signal.aborted) {
    if (due.length === 0 && isMore) ({ due, isMore } = await dueEntries(options.store, taken));
    // A batch may have failed while the outbox was read; what it held is due again, and nothing more is begun.
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

/** The first jobs in the outbox that no batch has yet, and whether there may be more of them. */
async function dueEntries(
  store: DrainOptions['store'],
  taken: ReadonlySet<string>,
): Promise<{ due: readonly OutboxEntry[]; isMore: boolean }> {
  const now = new Date().toISOString();
  const limit = taken.size + lookJobsMax;
  const found = await store.outbox({ now, limit });
  return { due: found.filter(({ job_id }) => !taken.has(job_id)), isMore: found.length === limit };
}
