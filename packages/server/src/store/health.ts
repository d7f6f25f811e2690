/** Figures about the store for operators: how many jobs wait, run or are unattested, and whether it can still be written. */
import { sql } from 'kysely';
import { countBy } from './by-column.ts';
import { oldestQueuedAt } from './jobs/queue.ts';
import { queueDepth } from './jobs/tenants.ts';
import { prepared } from './prepared.ts';
import type { StoreCounts } from './records/answers.ts';
import type { StoreDatabase } from './schema.ts';

const countRunning = countBy('jobs', [], { where: { status: 'running' } });
const countOutbox = countBy('attestation_outbox', []);

const lastOutboxError = prepared((db) =>
  db
    .selectFrom('attestation_outbox')
    .select(['last_error as message', 'last_error_at as at'])
    .where('last_error_at', 'is not', null)
    .orderBy('last_error_at', 'desc')
    .limit(sql.lit(1)),
);

const writeProbe = prepared((db) =>
  db
    .insertInto('probes')
    .values({ probe_id: 1, count: 1 })
    .onConflict((conflict) =>
      conflict.column('probe_id').doUpdateSet((row) => ({ count: row('probes.count', '+', 1) })),
    ),
);

const countProbes = prepared((db) => db.selectFrom('probes').select('count').where('probe_id', '=', 1));

/** How many jobs wait, how many run, and how many are still to be attested. */
export async function counts(db: StoreDatabase): Promise<StoreCounts> {
  const error = await lastOutboxError.first(db, {});
  const outbox_error = error?.message && error.at ? { message: error.message, at: error.at } : null;
  return {
    queued: await queueDepth(db),
    running: await countRunning(db, {}),
    oldest_queued_at: await oldestQueuedAt(db),
    outbox: await countOutbox(db, {}),
    outbox_error,
  };
}

/**
 * Proves that the store can be written, and rejects if it cannot. The probe changes a row, so it needs the same resources as a
 * transaction for a job.
 */
export async function probe(db: StoreDatabase): Promise<void> {
  await writeProbe.run(db, {});
}

/** How many times the store was ever probed. This number only grows, so an older copy of the store has a smaller number. */
export async function probes(db: StoreDatabase): Promise<number> {
  return (await countProbes.first(db, {}))?.count ?? 0;
}
