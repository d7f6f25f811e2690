/**
 * Following a job: every event once, in sequence order, until `finished`. Events come by the WebSocket stream if the
 * service has one, and otherwise by paging through stored events. After a lost connection it resumes after the last
 * event it yielded, so nothing is lost or repeated. Once the credential has ended, the next ticket is refused, and
 * following ends with that refusal. Spec § WebSocket stream.
 */
import type { JobEvent } from '@vouchbox/protocol';
import { replayLimitMax, STREAM_CLOSE_CODES } from '@vouchbox/protocol/vocabulary';
import { delayMilliseconds, isWorthRetrying, type RetryPolicy, type Sleep } from './backoff.ts';
import { openEventStream, type StreamEnd } from './event-stream.ts';
import { ServiceFailure, TransportFailure } from './failure.ts';
import { isRouteMissing, legacyStreamPath } from './older-server.ts';
import type { ServiceClient } from './service-client.ts';
import { streamAddress } from './stream-address.ts';
import type { Endpoint } from './transport.ts';

/**
 * The state of following, for display: `connecting` until the first connection is open, `live` while events come as
 * they are recorded, `reconnecting` from a lost connection to the next, and `closed` once at the end.
 */
export type FollowState = 'connecting' | 'live' | 'reconnecting' | 'closed';

export interface FollowOptions {
  /** The last sequence number already seen. Default 0: from the start. */
  readonly after?: number;
  readonly signal?: AbortSignal | undefined;
  /** `auto` uses the stream where it can; `replay` only pages. Default `auto`. */
  readonly by?: 'auto' | 'replay';
  /** Called with each change of the state, including the first. */
  readonly onState?: (state: FollowState) => void;
}

interface Following extends FollowOptions {
  readonly job_id: string;
  readonly client: ServiceClient;
  readonly endpoint: Endpoint;
  readonly legacy: 'none' | 'key-in-stream-url';
  readonly policy: RetryPolicy;
  readonly sleep: Sleep;
  /** Requests the stream without a WebSocket, and returns the service's refusal; null if there is none. */
  readonly whyRefused: () => Promise<unknown>;
}

/** The pause between two empty pages: from the first to the last value, doubling. */
const idleMilliseconds = { first: 50, last: 1000 };

/** A refused WebSocket hides the reason. If the service does not give one otherwise, the next try waits a second. */
const refusedMilliseconds = 1000;

/** Yields each event after `after` once, in order, and returns after `finished`. */
export async function* followJob(given: Following): AsyncGenerator<JobEvent, void> {
  const tell = stateTeller(given.onState);
  const following = { ...given, onState: tell };
  tell('connecting');
  try {
    const paged = yield* byStreaming(following);
    if (paged !== null) yield* byPaging(following, paged);
  } finally {
    tell('closed');
  }
}

/** Calls back only when the state changes. */
function stateTeller(onState: (state: FollowState) => void = () => {}): (state: FollowState) => void {
  let told: FollowState | null = null;
  return (state) => {
    if (state === told) return;
    told = state;
    onState(state);
  };
}

type Told = Following & Required<Pick<FollowOptions, 'onState'>>;

/** Null once the job has finished; otherwise the last event yielded, when there is no stream to continue with. */
async function* byStreaming(following: Told): AsyncGenerator<JobEvent, number | null> {
  const { policy, onState } = following;
  let last = following.after ?? 0;
  let failures = 0;
  for (;;) {
    const source = await chooseSource(following, last);
    if (source === null) return last;
    const close = yield* passOn(source, following, last, (seq) => {
      last = seq;
      failures = 0;
    });
    if (close === 'finished') return null;
    onState('reconnecting');
    // A connection that reached its lifetime did its work: it is replaced without counting as a failed try.
    failures = close === STREAM_CLOSE_CODES.lifetimeReached ? 0 : failures + 1;
    if (failures >= policy.attemptsMax) throw new TransportFailure('network', `the stream ended with ${close}`);
    const refusal = close === 'refused' ? await following.whyRefused() : null;
    if (refusal !== null && !isWorthRetrying(policy, refusal)) throw refusal;
    const delay = delayMilliseconds(policy, Math.max(1, failures), Math.random(), refusal);
    const isUnexplained = close === 'refused' && refusal === null;
    await following.sleep(isUnexplained ? delay + refusedMilliseconds : delay, following.signal);
  }
}

/** Drops repeated events, and reads missing ones from the stored history. Neither is an error. */
async function* passOn(
  source: AsyncGenerator<JobEvent, StreamEnd>,
  following: Following,
  after: number,
  taken: (seq: number) => void,
): AsyncGenerator<JobEvent, StreamEnd | 'finished'> {
  let last = after;
  try {
    for (;;) {
      const step = await source.next();
      if (step.done) return step.value;
      if (step.value.seq <= last) continue;
      for await (const event of withLeftOut(step.value, following, last)) {
        last = event.seq;
        taken(last);
        yield event;
      }
      if (step.value.kind === 'finished') return 'finished';
    }
  } finally {
    await source.return(0);
  }
}

/** The stored events between the last one yielded and the next, and then the next. */
async function* withLeftOut(
  next: JobEvent,
  { client, job_id, signal }: Following,
  after: number,
): AsyncGenerator<JobEvent, void> {
  for (let cursor = after; cursor + 1 < next.seq; ) {
    const limit = Math.min(replayLimitMax, next.seq - cursor - 1);
    const { events } = await client.replay(job_id, { after: cursor, limit, signal });
    const between = events.filter(({ seq }) => seq < next.seq);
    yield* between;
    cursor = between.at(-1)?.seq ?? next.seq;
  }
  yield next;
}

/** A connection to the stream, or null if this service or this platform has none. */
async function chooseSource(following: Told, after: number): Promise<AsyncGenerator<JobEvent, StreamEnd> | null> {
  const { by = 'auto', client, endpoint, job_id, signal, onState } = following;
  if (by === 'replay' || typeof WebSocket === 'undefined') return null;
  const open = (path: string) =>
    openEventStream(streamAddress(endpoint, path, after), { signal, onOpen: () => onState('live') });
  try {
    return open((await client.streamTicket(job_id, { signal })).stream_url);
  } catch (error) {
    if (isRouteMissing(error) && following.legacy === 'key-in-stream-url')
      return open(legacyStreamPath(endpoint, job_id));
    if (isRouteMissing(error) || isNotOffered(error) || isWorthRetrying(following.policy, error)) return null;
    throw error;
  }
}

/** A structured `job_not_found` is never evidence that a route is missing. Spec § Errors. */
function isNotOffered(error: unknown): boolean {
  return error instanceof ServiceFailure && (error.status === 501 || error.code === 'route_not_found');
}

/** Pages through the stored events until the job ends. Between empty pages the service holds a wait for the end. */
async function* byPaging(
  { client, job_id, signal, sleep, onState }: Told,
  after: number,
): AsyncGenerator<JobEvent, void> {
  const stop = new AbortController();
  const until = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  let ended: Promise<unknown> | null = endOf(client, job_id, until);
  let idle = idleMilliseconds.first;
  try {
    for (let cursor = after; ; ) {
      const page = await client.replay(job_id, { after: cursor, limit: replayLimitMax, signal });
      onState('live');
      yield* page.events;
      if (page.next_cursor === null) return;
      cursor = page.next_cursor;
      if (page.events.length > 0) {
        idle = idleMilliseconds.first;
        continue;
      }
      const woken: 'end' | 'time' = await Promise.race([
        ended?.then(() => 'end' as const) ?? new Promise<never>(() => {}),
        sleep(idle, until).then(() => 'time' as const),
      ]);
      if (woken === 'end') ended = null;
      idle = Math.min(idle * 2, idleMilliseconds.last);
    }
  } finally {
    stop.abort();
  }
}

/** Resolves when the job is terminal. Never rejects: it only shortens the last pause. */
async function endOf(client: ServiceClient, job_id: string, signal: AbortSignal): Promise<void> {
  try {
    await client.waitForResult(job_id, { signal });
  } catch {
    await new Promise<never>(() => {});
  }
}
