/** The requests about jobs. Spec § Endpoints. */
import { askUntilEnded } from './ask-until-ended.ts';
import type { EndingPage, FoldedResult, JobEvent, JobListItem, JobSubmission } from './contract-types.ts';
import { randomKey } from './digest.ts';
import { openEventStream as open } from './event-stream.ts';
import { TransportFailure } from './failure.ts';
import type { CallOptions, ListOptions, ReplayOptions, SubmitOptions, Submitted, WaitOptions } from './job-options.ts';
import { orOlder } from './older-route.ts';
import { answerCheck, once, read, repeated } from './operation.ts';
import type { Session } from './session.ts';
import { submissionOf } from './submission.ts';
import { decodeJson } from './transport.ts';

/** The most events read of a history: far more than a job can have. A job's two streams have at most 10,000 lines each. */
const historyEventsMax = 100_000;

/** Stores a job. If the answer is lost, the request may be repeated: the same key and body give the same job. */
export async function submit(
  session: Session,
  program: string | JobSubmission,
  { idempotencyKey = randomKey(), waitSeconds, include, promise = false, signal, ...options }: SubmitOptions,
): Promise<Submitted> {
  const fetch = promise === false ? null : await (await promises()).promising(session, promise, signal);
  const body = { ...(await submissionOf(program, options)), ...(fetch && { promise: true }) };
  const send = idempotencyKey === null ? once : repeated;
  // If the service waits before it answers, the promise comes with the answer.
  const asked = fetch && waitSeconds ? ([...(include ?? []), 'promise'] as const) : include;
  const call = { body, query: { wait_seconds: waitSeconds, include: asked }, idempotencyKey, signal };
  const sent = await send(session, 'POST /v1/jobs', call);
  const replayed = sent.headers.get('idempotency-replayed') === 'true';
  const answer = (await answerCheck()).checkSubmission(decodeJson(sent));
  return { ...answer, replayed, idempotencyKey, promise: fetch && (await fetch({ body, answer, replayed })) };
}

/** The code for promises. A page loads it with the first promise. */
export const promises = () => import('./promise.ts');

/** The fallbacks for older servers. They are imported when a server first answers like an older one. */
const older = () => import('./older-server.ts');

/** Every job of the tenant, newest first, page by page. */
export async function* listAll(
  session: Session,
  { signal, ...query }: Omit<ListOptions, 'cursor'>,
): AsyncGenerator<JobListItem, void> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await read(session, 'GET /v1/jobs', { query: { ...query, cursor }, signal });
    yield* page.items;
    cursor = page.next_cursor;
  }
}

/** The result so far. The service waits up to `waitSeconds` for the job to end. */
export function result(
  session: Session,
  job_id: string,
  { waitSeconds, signal }: CallOptions & { readonly waitSeconds?: number | undefined },
): Promise<FoldedResult> {
  const asked = read(session, 'GET /v1/jobs/{id}/result', { job_id, query: { wait_seconds: waitSeconds }, signal });
  return orOlder(asked, async (missing) => (await older()).olderResult(session, job_id, { signal, missing, open }));
}

/**
 * Requests the result again and again, each time with a wait, until it is terminal.
 * @throws TransportFailure `timeout` once `timeoutSeconds` are over
 */
export function waitForResult(session: Session, job_id: string, options: WaitOptions): Promise<FoldedResult> {
  return askUntilEnded(session, job_id, (asked, waiting) => result(asked, job_id, waiting), options);
}

/** A page of stored events. Reading it does not run the program again. */
export function replay(
  session: Session,
  job_id: string,
  { after, limit, waitSeconds, include, signal, onRetry }: ReplayOptions & { readonly onRetry?: () => void },
): Promise<EndingPage> {
  const query = { after, limit, wait_seconds: waitSeconds, include };
  const asked = read(session, 'GET /v1/jobs/{id}/replay', { job_id, query, signal, onRetry });
  return orOlder(asked as Promise<EndingPage>, async (missing) =>
    (await older()).olderReplay(session, job_id, { after, limit, signal, missing, open }),
  );
}

/** The events stored so far, page by page. */
export async function* storedEvents(
  session: Session,
  job_id: string,
  { after = 0, ...options }: ReplayOptions,
): AsyncGenerator<JobEvent, void> {
  for (let cursor = after; ; ) {
    const { events, next_cursor } = await replay(session, job_id, { ...options, after: cursor });
    yield* events;
    if (next_cursor === null || events.length === 0) return;
    if (next_cursor <= cursor || cursor > historyEventsMax) {
      throw new TransportFailure('undecodable', `the history of ${job_id} has no end`);
    }
    cursor = next_cursor;
  }
}
