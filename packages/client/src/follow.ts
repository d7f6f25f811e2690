/**
 * Following a job: every event once, in sequence order, until `finished`. Events come by the WebSocket stream where the
 * service has one, and else by paging through stored events. A lost connection goes on after the last event that was
 * taken, so nothing is lost and nothing is repeated. Where the credential has ended, minting the next ticket says so.
 * Spec § WebSocket stream.
 */
import type { JobEvent } from '@svc/protocol';
import { replayLimitMax, STREAM_CLOSE_CODES } from '@svc/protocol/vocabulary';
import { delayMilliseconds, isWorthRetrying, type RetryPolicy, type Sleep } from './backoff.ts';
import { openEventStream, type StreamEnd } from './event-stream.ts';
import { ServiceFailure, TransportFailure } from './failure.ts';
import type { ServiceClient } from './service-client.ts';
import type { Endpoint } from './transport.ts';

export interface FollowOptions {
  /** The last sequence number already taken. Default 0: from the start. */
  readonly after?: number;
  readonly signal?: AbortSignal | undefined;
  /** `auto` streams where it can; `replay` only pages. Default `auto`. */
  readonly by?: 'auto' | 'replay';
}

interface Following extends FollowOptions {
  readonly job_id: string;
  readonly client: ServiceClient;
  readonly endpoint: Endpoint;
  readonly legacy: 'none' | 'key-in-stream-url';
  readonly policy: RetryPolicy;
  readonly sleep: Sleep;
}

/** Between two pages while nothing comes: from the first to the last, doubling. */
const idleMilliseconds = { first: 50, last: 1000 };

/** A WebSocket that is refused hides its `Retry-After`; for want of capacity the service says a second. */
const refusedMilliseconds = 1000;

/** Yields each event after `after` once, in order, and returns after `finished`. */
export async function* followJob(following: Following): AsyncGenerator<JobEvent, void> {
  let last = following.after ?? 0;
  let failures = 0;
  for (;;) {
    const source = await chooseSource(following, last);
    if (source === null) break;
    const close = yield* passOn(source, following, last, (seq) => {
      last = seq;
      failures = 0;
    });
    if (close === 'finished') return;
    // A connection that got old is replaced however often: it did what it was to do.
    failures = close === STREAM_CLOSE_CODES.lifetimeReached ? 0 : failures + 1;
    if (failures >= following.policy.attemptsMax)
      throw new TransportFailure('network', `the stream ended with ${close}`);
    const delay = delayMilliseconds(following.policy, Math.max(1, failures), Math.random(), null);
    await following.sleep(close === 'refused' ? delay + refusedMilliseconds : delay, following.signal);
  }
  yield* byPaging(following, last);
}

/** Drops what was taken already, and reads what was left out from what is stored: neither is an error. */
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

/** The stored events between the last that was taken and the next that came, and then that one. */
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

/** A connection to the stream, or null where this service or this platform has none. */
async function chooseSource(following: Following, after: number): Promise<AsyncGenerator<JobEvent, StreamEnd> | null> {
  const { by = 'auto', client, job_id, signal } = following;
  if (by === 'replay' || typeof WebSocket === 'undefined') return null;
  try {
    const { stream_url } = await client.streamTicket(job_id, { signal });
    return openEventStream(streamAddress(following.endpoint, stream_url, after), { signal });
  } catch (error) {
    if (isUnstructuredRouteMissing(error) && following.legacy === 'key-in-stream-url') {
      const url = `/v1/jobs/${encodeURIComponent(job_id)}/stream?api_key=${encodeURIComponent(following.endpoint.apiKey ?? '')}`;
      return openEventStream(streamAddress(following.endpoint, url, after), { signal });
    }
    if (isUnstructuredRouteMissing(error) || isRouteMissing(error) || isWorthRetrying(following.policy, error))
      return null;
    throw error;
  }
}

/** A structured `job_not_found` is never evidence that a route is missing. Spec § Errors. */
function isRouteMissing(error: unknown): boolean {
  return error instanceof ServiceFailure && (error.status === 501 || error.code === 'route_not_found');
}

function isUnstructuredRouteMissing(error: unknown): boolean {
  return (
    error instanceof TransportFailure && error.reason === 'unstructured' && [404, 405, 501].includes(error.status ?? 0)
  );
}

function streamAddress(endpoint: Endpoint, stream_url: string, after: number): string {
  const url = new URL(endpoint.baseUrl.replace(/\/$/, '') + stream_url);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.searchParams.set('after', String(after));
  return url.href;
}

/** Pages through what is stored, and asks again while the job goes on; its end is waited for in the service. */
async function* byPaging({ client, job_id, signal, sleep }: Following, after: number): AsyncGenerator<JobEvent, void> {
  const stop = new AbortController();
  const until = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  let ended: Promise<unknown> | null = endOf(client, job_id, until);
  let idle = idleMilliseconds.first;
  try {
    for (let cursor = after; ; ) {
      const page = await client.replay(job_id, { after: cursor, limit: replayLimitMax, signal });
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

/** Resolves when the job is terminal; never rejects, since it only spares the last pause. */
async function endOf(client: ServiceClient, job_id: string, signal: AbortSignal): Promise<void> {
  try {
    await client.waitForResult(job_id, { signal });
  } catch {
    await new Promise<never>(() => {});
  }
}
