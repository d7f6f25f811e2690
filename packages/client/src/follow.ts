/**
 * Following a job: every event once, in sequence order, until `finished`. Events come over the WebSocket stream if there is one,
 * and otherwise in pages that the service holds until there is an event. After a lost connection, following resumes after the
 * last event that was yielded, so nothing is lost or repeated. Once the credential has ended, the next ticket is refused, and
 * following ends with that refusal. Spec § WebSocket stream.
 */
import type { STREAM_CLOSE_CODES } from '@vouchbox/protocol';
import { replayLimitMax } from '@vouchbox/protocol/vocabulary';
import { waitSecondsAtOnce } from './ask-until-ended.ts';
import { delayMilliseconds, isWorthRetrying } from './backoff.ts';
import type { EndFrame, JobEvent } from './contract-types.ts';
import { type Answers, openEventStream, type StreamEnd } from './event-stream.ts';
import { ServiceFailure } from './failure.ts';
import type { CallOptions } from './job-options.ts';
import { replay } from './jobs.ts';
import { isRouteMissing } from './older-route.ts';
import { accepted, once, read, supports, withPolicy } from './operation.ts';
import type { Session } from './session.ts';
import { legacyStreamPath, streamAddress } from './stream-address.ts';

/**
 * The state of following, for display: `connecting` until the first connection is open, `live` while events come as they are
 * recorded, `reconnecting` between a lost connection and the next one, and `closed` at the end.
 */
export type FollowState = 'connecting' | 'live' | 'reconnecting' | 'closed';

export interface FollowOptions extends CallOptions {
  /** The last sequence number already seen. The default is 0: from the start. */
  readonly after?: number | undefined;
  /** `auto` uses the stream if possible; `replay` uses only pages. Default `auto`. */
  readonly by?: 'auto' | 'replay' | undefined;
  /** Called with each new state, including the first one. */
  readonly onState?: ((state: FollowState) => void) | undefined;
}

/** Further options for a run: a stream URL with the run's own ticket, and a callback for the job's outcome. */
export interface RunFollowing {
  readonly stream_url?: string | undefined;
  readonly onEnd?: ((frame: EndFrame) => void) | undefined;
  /** For answering tool calls. If given, the credential itself opens the stream, because a ticket allows only reading. */
  readonly answers?: Answers | undefined;
}

/** The progress of following. `last` is the sequence number of the last event that was yielded. */
interface Following extends FollowOptions, RunFollowing {
  readonly session: Session;
  readonly job_id: string;
  readonly onState: (state: FollowState) => void;
  last: number;
  stream_url: string | undefined;
  answers: Answers | undefined;
}

/** The members that the last frame or the last page must have. */
const endParts = ['result', 'receipt'] as const;

/** The close code of a connection that has reached its absolute lifetime. */
const lifetimeReached: (typeof STREAM_CLOSE_CODES)['lifetimeReached'] = 1001;

/** The pause after an empty page that the service did not hold. The pause doubles with each such page, up to a maximum. */
const idleMilliseconds = 50;
const idleMillisecondsMax = 1000;

/** The pause after a WebSocket was refused without a known reason. Only a plain request can get the reason. */
const refusedMilliseconds = 1000;

/** If this many connections did not open and the service gave no reason, the client assumes that a proxy refuses them. */
const unopenedMax = 2;

/** Yields each event after `after` once, in order, and returns after `finished`. */
export async function* followJob(
  session: Session,
  job_id: string,
  { onState, stream_url, answers, ...options }: FollowOptions & RunFollowing,
): AsyncGenerator<JobEvent, void> {
  let told: FollowState | null = null;
  const tell = (state: FollowState) => {
    if (state !== told) onState?.(state);
    told = state;
  };
  const following = { ...options, session, job_id, stream_url, answers, onState: tell, last: options.after ?? 0 };
  tell('connecting');
  try {
    if (!(yield* byStreaming(following))) yield* byPaging(following);
  } finally {
    tell('closed');
  }
}

/** Returns true once the job has finished, false if no stream can be used. Only requests for pages wait for a lost service. */
async function* byStreaming(following: Following): AsyncGenerator<JobEvent, boolean> {
  const { session, signal, onState } = following;
  const { policy, sleep } = session;
  let failures = 0;
  for (let unopened = 0; unopened < unopenedMax; ) {
    const source = await chooseSource(following);
    if (source === null) return false;
    const before = following.last;
    const close = yield* passOn(source, following);
    if (close === 'finished') return true;
    if (close === 'refused' && following.answers !== undefined) {
      // The service or the platform may refuse a stream with the credential and still allow a stream with a ticket.
      following.answers = undefined;
      continue;
    }
    onState('reconnecting');
    // A connection that has reached its lifetime is replaced and does not count as a failed try.
    failures = close === lifetimeReached ? 0 : 1 + (following.last > before ? 0 : failures);
    if (failures >= policy.attemptsMax) return false;
    const refusal = close === 'refused' ? await whyRefused(following) : null;
    if (refusal !== null && !isWorthRetrying(policy, refusal)) throw refusal;
    const isUnexplained = close === 'refused' && refusal === null;
    unopened = isUnexplained ? unopened + 1 : 0;
    const delay = delayMilliseconds(policy, Math.max(1, failures), Math.random(), refusal);
    await sleep(isUnexplained ? delay + refusedMilliseconds : delay, signal);
  }
  return false;
}

/** Drops repeated events, and reads missing events from the stored history. Neither is an error. */
async function* passOn(
  source: AsyncGenerator<JobEvent, StreamEnd>,
  following: Following,
): AsyncGenerator<JobEvent, StreamEnd | 'finished'> {
  try {
    for (;;) {
      const { done, value } = await source.next();
      if (done) return value;
      if (value.seq <= following.last) continue;
      yield* leftOut(following, value.seq);
      following.last = value.seq;
      yield value;
      if (value.kind !== 'finished') continue;
      // The last frame comes next. If it does not come, its parts are requested one by one.
      if (following.onEnd !== undefined) await source.next();
      return 'finished';
    }
  } finally {
    await source.return(0);
  }
}

/** The stored events between the last yielded event and the event with this number. */
async function* leftOut(following: Following, next: number): AsyncGenerator<JobEvent, void> {
  const { session, job_id, signal } = following;
  while (following.last + 1 < next) {
    const limit = Math.min(replayLimitMax, next - following.last - 1);
    const { events } = await replay(accepted(session), job_id, { after: following.last, limit, signal });
    const between = events.filter(({ seq }) => seq < next);
    yield* between;
    following.last = between.at(-1)?.seq ?? next;
  }
}

/** A connection to the stream, or null if this service or this platform has none. */
async function chooseSource(following: Following): Promise<AsyncGenerator<JobEvent, StreamEnd> | null> {
  const { session, job_id, by, signal, onState, onEnd, stream_url, answers } = following;
  if (by === 'replay' || !globalThis.WebSocket) return null;
  const open = (path: string) => {
    const address = streamAddress(session, path, following.last, onEnd && endParts.join());
    return openEventStream(address, { signal, onEnd, onOpen: () => onState('live'), answers });
  };
  if (answers !== undefined) return open(`/v1/jobs/${encodeURIComponent(job_id)}/stream`);
  following.stream_url = undefined;
  if (stream_url !== undefined) return open(stream_url);
  try {
    // A request for a ticket does not wait for a lost service; only requests for pages do.
    const asking = withPolicy(session, { bearsLoss: false });
    return open((await read(asking, 'POST /v1/jobs/{id}/stream-ticket', { job_id, signal })).stream_url);
  } catch (error) {
    if (isRouteMissing(error)) return session.legacy === 'none' ? null : open(legacyStreamPath(session, job_id));
    if (isNotOffered(error) || isWorthRetrying(session.policy, error)) return null;
    throw error;
  }
}

/** Whether the service says that it has no stream. A structured `job_not_found` never means a missing route. Spec § Errors. */
function isNotOffered(error: unknown): boolean {
  return error instanceof ServiceFailure && (error.status === 501 || error.code === 'route_not_found');
}

/**
 * Why a WebSocket was refused; null if the service gives no reason. Platforms hide the reason, but a plain request for
 * the stream gets the same refusal. If nothing is wrong, the plain request is refused for not being a WebSocket.
 */
async function whyRefused({ session, job_id, signal }: Following): Promise<ServiceFailure | null> {
  const asked = once(session, 'GET /v1/jobs/{id}/stream', { job_id, signal });
  const error = await asked.catch((caught: unknown) => caught);
  const isRefusal = error instanceof ServiceFailure && [401, 403, 404, 429, 503].includes(error.status);
  return isRefusal && error.code !== 'route_not_found' ? error : null;
}

/** Reads the stored events page by page until the job ends. */
async function* byPaging(following: Following): AsyncGenerator<JobEvent, void> {
  const { session, job_id, signal, onState, onEnd } = following;
  const onRetry = () => onState('reconnecting');
  const patient = accepted(session);
  const isHeld = await supports(patient, 'replay_wait', signal).catch((error: unknown) => {
    // The failed request may have been made by another call with less patience. Then this call makes its own request.
    if (patient.facts === null) throw error;
    patient.facts = null;
    return supports(patient, 'replay_wait', signal);
  });
  session.facts ??= patient.facts;
  const include = onEnd && (await supports(patient, 'replay_include', signal)) ? endParts : undefined;
  for (let idle: number = idleMilliseconds; ; ) {
    const waitSeconds = isHeld ? waitSecondsAtOnce : undefined;
    const asked = { after: following.last, limit: replayLimitMax, waitSeconds, include, signal, onRetry };
    const { events, next_cursor, ...ended } = await replay(patient, job_id, asked);
    onState('live');
    yield* events;
    if (next_cursor === null) {
      onEnd?.(ended);
      return;
    }
    following.last = next_cursor;
    if (events.length > 0) idle = idleMilliseconds;
    else await session.sleep(idle, signal);
    if (!isHeld) idle = Math.min(idle * 2, idleMillisecondsMax);
  }
}
