/**
 * A job's history as it is stored. Sequence numbers and links are given here, inside the transaction that stores the
 * events, so that no two writers can continue the same chain.
 */
import assert from 'node:assert';
import { linkEvents } from '@svc/evidence';
import type { EventBody, JobEvent } from '@svc/protocol';
import { isTerminal } from '@svc/protocol/vocabulary';
import { prepared } from '../prepared.ts';
import type { EventPage, JobKey } from '../records.ts';
import type { EventTable, JobTable, LedgerDatabase } from '../schema.ts';

/** Where a job's chain ends. */
export type ChainedJob = JobKey & Pick<JobTable, 'chain_seq' | 'chain_head'>;

const insertEvent = prepared((db, row: EventTable) =>
  db.insertInto('events').values({
    tenant: row.tenant,
    job_id: row.job_id,
    seq: row.seq,
    timestamp: row.timestamp,
    kind: row.kind,
    data: row.data,
    hash_version: row.hash_version,
    prev_hash: row.prev_hash,
    event_hash: row.event_hash,
  }),
);

const moveTail = prepared((db, tail: ChainedJob) =>
  db
    .updateTable('jobs')
    .set({ chain_seq: tail.chain_seq, chain_head: tail.chain_head })
    .where('tenant', '=', tail.tenant)
    .where('job_id', '=', tail.job_id),
);

const markTruncated = prepared((db, { tenant, job_id }: JobKey) =>
  db.updateTable('jobs').set({ truncated: 1 }).where('tenant', '=', tenant).where('job_id', '=', job_id),
);

const chainOf = prepared((db, { tenant, job_id }: JobKey) =>
  db
    .selectFrom('jobs')
    .select(['tenant', 'job_id', 'status', 'chain_seq', 'chain_head'])
    .where('tenant', '=', tenant)
    .where('job_id', '=', job_id),
);

const selectPage = prepared((db, page: JobKey & { after: number; limit: number }) =>
  db
    .selectFrom('events')
    .select(['job_id', 'seq', 'timestamp', 'kind', 'data', 'hash_version', 'prev_hash', 'event_hash'])
    .where('tenant', '=', page.tenant)
    .where('job_id', '=', page.job_id)
    .where('seq', '>', page.after)
    .orderBy('seq')
    .limit(page.limit),
);

/** Events in their place behind the tail of a job's chain, and where the chain ends with them. */
export interface LinkedEvents {
  readonly tail: ChainedJob;
  readonly rows: readonly EventTable[];
  /** Whether one of them says that output is cut. */
  readonly isTruncated: boolean;
}

/** Places events behind the tail of a job's chain. Nothing is stored. */
export function linkBehind(
  { tenant, job_id, chain_seq, chain_head }: ChainedJob,
  bodies: readonly EventBody[],
): LinkedEvents {
  const rows = Array.from(linkEvents({ job_id, seq: chain_seq, head: chain_head }, bodies), ({ event, data_json }) => ({
    tenant,
    ...event,
    data: data_json,
  }));
  const last = rows.at(-1);
  return {
    tail: { tenant, job_id, chain_seq: last?.seq ?? chain_seq, chain_head: last?.event_hash ?? chain_head },
    rows,
    isTruncated: bodies.some(({ kind }) => kind === 'truncated'),
  };
}

/** Stores linked events. The job's row gets their tail from the caller, in the same transaction. */
export function insertEvents(db: LedgerDatabase, { rows }: LinkedEvents): void {
  insertEvent.runEach(db, rows);
}

/** Stores events behind the tail of a job's chain and moves the tail. */
export async function extendChain(db: LedgerDatabase, job: ChainedJob, bodies: readonly EventBody[]): Promise<void> {
  const linked = linkBehind(job, bodies);
  insertEvents(db, linked);
  await moveTail.run(db, linked.tail);
  if (linked.isTruncated) await markTruncated.run(db, linked.tail);
}

/** See `Store.append`. */
export async function append(
  db: LedgerDatabase,
  { key, events }: { key: JobKey; events: readonly EventBody[] },
): Promise<boolean> {
  assert(
    events.every(({ kind }) => kind !== 'queued' && kind !== 'started' && kind !== 'finished'),
    'a lifecycle event is written by the transition it stands for',
  );
  const job = await chainOf.first(db, key);
  if (job?.status !== 'running') return false;
  if (events.length > 0) await extendChain(db, job, events);
  return true;
}

/** See `Store.events`. */
export async function events(
  db: LedgerDatabase,
  { key, after, limit }: { key: JobKey; after: number; limit: number },
): Promise<EventPage | null> {
  const job = await chainOf.first(db, key);
  if (job === null) return null;
  const rows = await selectPage.all(db, { ...key, after, limit });
  const last = rows.at(-1)?.seq ?? after;
  return { events: rows.map(eventOf), complete: isTerminal(job.status) && last >= job.chain_seq };
}

function eventOf(row: Omit<EventTable, 'tenant'>): JobEvent {
  return { ...row, data: JSON.parse(row.data) as unknown };
}
