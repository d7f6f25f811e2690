/**
 * Pairs: two jobs whose programs talk to each other. Both are accepted in one transaction, started in one, and cancelled in one.
 * The queue has one row for both, under the program's id, so a pair takes one turn; both jobs count as queued.
 */
import { sql } from 'kysely';
import { hasKey, JOB } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import { type JobKey, PAIR_SLOTS, type QueuedJob } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';

/** Takes the place of a pack's name in a pair's queue row. No pack has this name, so nodes of earlier versions take no pairs. */
export const PAIR = '(pair)';
/** How many slots a row in the queue takes. */
export function slotsOf(job: Pick<QueuedJob, 'runtime'> | undefined): number {
  return job?.runtime === PAIR ? PAIR_SLOTS : 1;
}

/** How many characters of a specification are searched for the peer. In a job of a pair, the peer comes first. */
const headCharsMax = 256;
const HEAD = /^\{"interaction":\{"peer":"([^"]+)"/;
/** The same search for PostgreSQL: the beginning of a specification that names a peer. */
export const PEER_IN_SPEC = sql.lit('^\\{"interaction":\\{"peer":"([^"]+)"');

const selectHead = prepared((db, key: JobKey) =>
  db
    .selectFrom('job_specs')
    .select(sql<string>`substr(requested_spec, 1, ${sql.lit(headCharsMax)})`.as('head'))
    .where(hasKey('job_specs', JOB, key)),
);

/** The job whose program talks to the program of this job; null if there is none. */
export async function peerOf(db: StoreDatabase, key: JobKey): Promise<string | null> {
  const found = await selectHead.first(db, key);
  return found?.head.match(HEAD)?.[1] ?? null;
}
