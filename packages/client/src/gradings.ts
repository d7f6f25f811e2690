/** Gradings that the service makes from one request. This module is loaded when a client first needs it. Spec § Gradings. */
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
import type { CallOptions, ListOptions, ReplayOptions, SubmitOptions } from './job-options.ts';
import { accepted, answerCheck, once, read, repeated } from './operation.ts';
import type { Session } from './session.ts';
import { decodeJson } from './transport.ts';

export type SubmitGradingOptions = CallOptions & Pick<SubmitOptions, 'idempotencyKey'>;

/** A stored grading. */
export interface SubmittedGrading extends GradingAnswer {
  /** Whether the key already belonged to this grading. */
  readonly replayed: boolean;
  /** The key that was sent; null if no key was sent. */
  readonly idempotencyKey: string | null;
}

/** The most events that are read for one grading: far more than a grading can have. */
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

export async function* gradingEvents(
  session: Session,
  grading: string,
  { after = 0, limit, waitSeconds, signal }: ReplayOptions,
): AsyncGenerator<GradingEvent, void> {
  for (let cursor = after; ; ) {
    const query = { after: cursor, limit, wait_seconds: waitSeconds };
    const page = await read(accepted(session), 'GET /v1/gradings/{grading}/events', { grading, query, signal });
    yield* page.items;
    if (page.next_cursor === null) return;
    if (page.next_cursor < cursor || cursor > eventsMax) {
      throw new TransportFailure('undecodable', `the events of ${grading} have no end`);
    }
    cursor = page.next_cursor;
  }
}
