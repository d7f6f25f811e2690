/** Gradings as the service makes them, in one request. Loaded when a client first needs it. Spec § Gradings. */
import { waitSecondsMax } from '@vouchbox/protocol/vocabulary';
import { delayMilliseconds } from './backoff.ts';
import type {
  GradingAnswer,
  GradingCancellation,
  GradingDetail,
  GradingEvent,
  GradingList,
  GradingSubmission,
} from './contract-types.ts';
import { randomKey } from './digest.ts';
import { TransportFailure } from './failure.ts';
import type { CallOptions, ListOptions, ReplayOptions, SubmitOptions, WaitOptions } from './job-options.ts';
import { answerCheck, once, read, repeated } from './operation.ts';
import type { Session } from './session.ts';
import { decodeJson } from './transport.ts';

export type SubmitGradingOptions = CallOptions & Pick<SubmitOptions, 'idempotencyKey'>;

/** A stored grading. */
export interface SubmittedGrading extends GradingAnswer {
  /** Whether the key already belonged to this grading. */
  readonly replayed: boolean;
  /** The key that was sent; null if none was. */
  readonly idempotencyKey: string | null;
}

/** How long one request waits at most: many proxies cut an exchange at 60 seconds. */
const waitSecondsAtOnce = 50;

/** Far more events than a grading can have. */
const eventsMax = 1_000_000;

export async function submitGrading(
  session: Session,
  body: GradingSubmission,
  { idempotencyKey = randomKey(), signal }: SubmitGradingOptions,
): Promise<SubmittedGrading> {
  const send = idempotencyKey === null ? once : repeated;
  const answer = await send(session, 'POST /v1/gradings', { body, idempotencyKey, signal });
  const replayed = answer.headers.get('idempotency-replayed') === 'true';
  const { checkAnswer } = await answerCheck();
  return { ...checkAnswer<GradingAnswer>('POST /v1/gradings', decodeJson(answer)), replayed, idempotencyKey };
}

export function listGradings(
  session: Session,
  { signal, ...query }: Pick<ListOptions, 'limit' | 'cursor' | 'signal'>,
): Promise<GradingList> {
  return read(session, 'GET /v1/gradings', { query, signal });
}

export function cancelGrading(
  session: Session,
  grading: string,
  { signal }: CallOptions,
): Promise<GradingCancellation> {
  return read(session, 'DELETE /v1/gradings/{grading}', { grading, signal });
}

export async function readGrading(
  session: Session,
  grading: string,
  { waitSeconds, signal }: CallOptions & { readonly waitSeconds?: number | undefined },
): Promise<GradingDetail> {
  const query = { wait_seconds: waitSeconds };
  return await read(session, 'GET /v1/gradings/{grading}', { grading, query, signal });
}

/** @throws TransportFailure `timeout` once `timeoutSeconds` are over */
export async function waitForGrading(
  session: Session,
  grading_id: string,
  { signal, timeoutSeconds = Number.POSITIVE_INFINITY, waitSeconds = waitSecondsAtOnce }: WaitOptions,
): Promise<GradingDetail> {
  const end = performance.now() + timeoutSeconds * 1000;
  for (let expired = 1; ; expired++) {
    const left = Math.max(0, Math.ceil(end - performance.now()) / 1000);
    const atOnce = Math.min(waitSeconds, left, waitSecondsMax);
    const found = await readGrading(session, grading_id, { waitSeconds: atOnce, signal });
    if (found.finished_at !== null) return found;
    if (performance.now() >= end) {
      throw new TransportFailure('timeout', `${grading_id} is still ${found.status} after ${timeoutSeconds} s`);
    }
    await session.sleep(delayMilliseconds(session.policy, expired, Math.random(), null), signal);
  }
}

export async function* gradingEvents(
  session: Session,
  grading: string,
  { after = 0, limit, waitSeconds = waitSecondsAtOnce, signal }: ReplayOptions,
): AsyncGenerator<GradingEvent, void> {
  for (let cursor = after; ; ) {
    const query = { after: cursor, limit, wait_seconds: waitSeconds };
    const page = await read(session, 'GET /v1/gradings/{grading}/events', { grading, query, signal });
    yield* page.items;
    if (page.next_cursor === null) return;
    if (page.next_cursor < cursor || cursor > eventsMax) {
      throw new TransportFailure('undecodable', `the events of ${grading} have no end`);
    }
    cursor = page.next_cursor;
  }
}
