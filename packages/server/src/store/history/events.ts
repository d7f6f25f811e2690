/**
 * A job's history as it is stored. Sequence numbers and links are assigned here, inside the transaction that stores the
 * events, so that no two writers can continue the same chain.
 */
import assert from 'node:assert';
import { linkEvents } from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { isTerminal } from '@vouchbox/protocol/vocabulary';
import { insertOf, JOB, selectBy, updateBy } from '../by-column.ts';
import { together } from '../prepared.ts';
import type { AppendAnswer, EventPage, GivenAnswer, Message } from '../records/answers.ts';
import type { AppendInput, EventsInput, HistoryPart, Telling } from '../records/inputs.ts';
import { EVENT_COLUMNS, type JobKey, type StoredEvent } from '../records/rows.ts';
import type { EventTable, JobTable, OutputRunTable, StoreDatabase } from '../schema.ts';
import { isOutputRun } from './output-run.ts';
import { eventsInRange, type HistoryRange, selectEvents, storedPages } from './stored-history.ts';
import { isRun, linkedRun } from './stored-runs.ts';

/** Where a job's chain ends. */
export type ChainedJob = JobKey & Pick<JobTable, 'chain_seq' | 'chain_head'>;

const insertEvent = insertOf('events', ['tenant', ...EVENT_COLUMNS]);

const insertRun = insertOf('output_runs', [
  ...JOB,
  'seq',
  'last_seq',
  'prev_hash',
  'size_bytes',
  'event_hashes',
  'content',
]);

const insertCall = insertOf('tool_calls', [...JOB, 'seq', 'call']);

const moveTail = updateBy('jobs', JOB, ['chain_seq', 'chain_head']);
const markTruncated = updateBy('jobs', JOB, [], { to: { truncated: 1 } });
const chainOf = selectBy('jobs', JOB, [...JOB, 'status', 'chain_seq', 'chain_head']);

/** Events linked to the tail of a job's chain, and the new tail. */
export interface LinkedEvents {
  readonly tail: ChainedJob;
  readonly rows: readonly EventTable[];
  readonly runs: readonly OutputRunTable[];
  /** Whether one of the events is `truncated`. */
  readonly isTruncated: boolean;
}

/** Links parts of a history to the tail of a job's chain. Nothing is stored. */
export function linkBehind(
  { tenant, job_id, chain_seq, chain_head }: ChainedJob,
  parts: readonly HistoryPart[],
): LinkedEvents {
  let tail = { tenant, job_id, seq: chain_seq, head: chain_head };
  const rows: EventTable[] = [];
  const runs: OutputRunTable[] = [];
  for (const part of parts) {
    if (isOutputRun(part)) {
      const linked = linkedRun(tail, part);
      runs.push(linked.row);
      tail = linked.tail;
      continue;
    }
    for (const { event, data_json } of linkEvents(tail, [part])) {
      rows.push({ tenant, ...event, data: data_json });
      tail = { tenant, job_id, seq: event.seq, head: event.event_hash };
    }
  }
  const isTruncated = rows.some(({ kind }) => kind === 'truncated');
  return { tail: { tenant, job_id, chain_seq: tail.seq, chain_head: tail.head }, rows, runs, isTruncated };
}

/** Stores linked events. The caller stores their tail in the job's row, in the same transaction. */
export function insertEvents(db: StoreDatabase, { rows, runs }: LinkedEvents): void {
  insertEvent.sendEach(db, rows);
  insertRun.sendEach(db, runs);
}

/** Links events to the tail of a job's chain, stores them and moves the tail. `also` can send more changes. */
export function extendChain(
  db: StoreDatabase,
  job: ChainedJob,
  parts: readonly HistoryPart[],
  also: (linked: LinkedEvents) => void = () => {},
): LinkedEvents {
  const linked = linkBehind(job, parts);
  together(db, () => {
    insertEvents(db, linked);
    moveTail.send(db, linked.tail);
    also(linked);
  });
  // The mark and the tail are in the same row, so this change is sent by itself.
  if (linked.isTruncated) markTruncated.send(db, linked.tail);
  return linked;
}

/** Events to pass to the job's followers. Null if nobody follows, if there are too many events, or if some are in runs. */
export function eventsToFollow({ rows, runs }: LinkedEvents, isFollowed: boolean): readonly StoredEvent[] | null {
  if (!isFollowed || runs.length > 0 || rows.length > followedMax) return null;
  return rows;
}

/** The messages about a change. They carry what the change added, if followers may get the additions without a read. */
export function telling({ tells = [] }: Telling, linked: LinkedEvents, answer?: GivenAnswer): readonly Message[] {
  const { tenant, job_id } = linked.tail;
  const events = eventsToFollow(linked, true);
  const added = events && { tenant, job_id, events, ...(answer && { answer }) };
  return tells.map((told) => ({ ...told, added }));
}

/** The most events that are passed to followers. If there are more, the followers read them, page by page. */
const followedMax = 64;

/** Adds events to the chain of a running job, in order. If the job is not running, nothing is stored. */
export async function append(db: StoreDatabase, input: AppendInput): Promise<AppendAnswer> {
  const { key, events } = input;
  assert(
    events.every((part) => isOutputRun(part) || !BY_TRANSITION.includes(part.kind)),
    'a lifecycle event is written by its own transition',
  );
  const job = await chainOf.first(db, key);
  if (job?.status !== 'running') return { isStored: false, toFollow: null };
  const linked = extendChain(db, job, events, ({ rows }) => noteCalls(db, events, rows));
  return { isStored: true, toFollow: eventsToFollow(linked, input.isFollowed ?? false), tells: telling(input, linked) };
}

/** Adds a row for each call that the service did not refuse; part of the transaction that stores the calls' events. */
function noteCalls(db: StoreDatabase, parts: readonly HistoryPart[], rows: readonly EventTable[]): void {
  const calls = parts.flatMap((part) => ('kind' in part && part.kind === 'tool_call' ? [part.data] : []));
  if (calls.length === 0) return;
  const placed = rows.filter(({ kind }) => kind === 'tool_call');
  for (const [at, { call, refused }] of calls.entries()) {
    const { tenant, job_id, seq } = placed[at] as EventTable;
    if (refused === undefined) insertCall.send(db, { tenant, job_id, seq, call });
  }
}

const BY_TRANSITION: readonly string[] = ['queued', 'started', 'finished'];

/** Events of the job after a cursor, in order; null if the tenant has no such job. */
export async function events(db: StoreDatabase, { key, after, limit }: EventsInput): Promise<EventPage | null> {
  const until = after + limit;
  const [job, rows] = await Promise.all([chainOf.first(db, key), selectEvents.all(db, { ...key, after, until })]);
  if (job === null) return null;
  // A job's events are numbered without gaps.
  const found = await storedEvents(db, { ...key, after, until: Math.min(until, job.chain_seq) }, rows);
  const last = found.at(-1)?.seq ?? after;
  return { events: found, complete: isTerminal(job.status) && last >= job.chain_seq };
}

/** The events in a range. Throws on data that is not JSON. */
export async function storedEvents(db: StoreDatabase, range: HistoryRange, first?: StoredEvent[]): Promise<JobEvent[]> {
  const events: JobEvent[] = [];
  for await (const page of storedPages(db, range, first)) {
    for (const part of page) {
      if (isRun(part)) events.push(...eventsInRange(range, part));
      else events.push({ ...part, data: JSON.parse(part.data) as unknown });
    }
  }
  return events;
}
