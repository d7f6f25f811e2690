/**
 * Calls of the contract's operations. An operation is named by its method and path. Its query, body and answer have the types
 * from the contract's tables. Only types come from the tables.
 */
import type { AnswerBody, BodyOf, ENDPOINTS, MediaTypeOf, OperationId, QueryOf } from '@vouchbox/protocol';
import { type RetryPolicy, retrying } from './backoff.ts';
import { definedEntries } from './defined-entries.ts';
import { ServiceFailure } from './failure.ts';
import { isRouteMissing } from './older-route.ts';
import type { ServiceFacts, Session } from './session.ts';
import { type Answer, decodeJson, type Exchange, exchange } from './transport.ts';

type Table = typeof ENDPOINTS;
type RouteOf<Id extends OperationId> = `${Table[Id]['method']} ${Table[Id]['path']}`;

/** An operation, named by its method and path, such as `GET /v1/jobs/{id}/result`. */
export type Route = RouteOf<OperationId>;
type IdOf<R extends Route> = { [Id in OperationId]: RouteOf<Id> extends R ? Id : never }[OperationId];

/** An operation's arguments: the job, the query and the body, if it has them. */
export type CallOf<R extends Route> = {
  readonly signal?: AbortSignal | undefined;
  /** A parameter that is undefined is not sent. A list is sent as one parameter, with commas between its words. */
  readonly query?: { readonly [Name in keyof QueryOf<IdOf<R>>]: Readonly<QueryOf<IdOf<R>>[Name]> | undefined };
  readonly body?: BodyOf<IdOf<R>>;
  readonly idempotencyKey?: string | null;
  /** The media type of the answer; JSON by default. */
  readonly accept?: MediaTypeOf<IdOf<R>> | '*/*';
  /** The `ETag` of an answer that the caller already has. */
  readonly ifNoneMatch?: string | undefined;
  /** An unsuccessful status whose body counts as an answer, too. */
  readonly answerStatus?: number;
  /** Leaves the body of the answer for the caller to read. */
  readonly stream?: boolean;
  /** The credential for this request, if it is not the client's own. */
  readonly apiKey?: string;
  /** Called before each further try. */
  readonly onRetry?: (() => void) | undefined;
} & (R extends `${string}{id}${string}` ? { readonly job_id: string } : unknown) &
  (R extends `${string}{grading}${string}` ? { readonly grading: string } : unknown) &
  (R extends `${string}{session}${string}` ? { readonly session: string } : unknown) &
  (R extends `${string}{link}${string}` ? { readonly link: string } : unknown) &
  (R extends `${string}{sha256}${string}`
    ? { readonly sha256: string; readonly bytes?: Uint8Array<ArrayBuffer> }
    : unknown) &
  (R extends `${string}{seq}${string}` ? { readonly seq: number } : unknown);

type AnyCall = CallOf<'POST /v1/jobs'> & {
  readonly job_id?: string;
  readonly grading?: string;
  readonly seq?: number;
  readonly session?: string;
  readonly link?: string;
  readonly sha256?: string;
  readonly bytes?: Uint8Array<ArrayBuffer>;
};

/** The code that checks answers. A page loads it with the first answer. */
export const answerCheck = () => import('./answer-check.ts');

/** Sends the request once. */
export function once<R extends Route>(session: Session, route: R, call: CallOf<R>): Promise<Answer> {
  const {
    query = {},
    idempotencyKey,
    ifNoneMatch,
    accept,
    apiKey,
    job_id = '',
    grading = job_id,
    session: name = grading,
    sha256 = name,
    seq,
    link,
    ...rest
  } = call as AnyCall;
  const named = route.replace(/{.+?}/, partOf(sha256)).replace(/{.+?}/, partOf(seq ?? link ?? ''));
  const [method, path] = named.split(' ') as [Exchange['method'], string];
  const given = definedEntries(query).map(([name, value]) => [name, String(value)]);
  const search = new URLSearchParams(given).toString();
  return exchange(apiKey === undefined ? session : { ...session, apiKey }, {
    ...rest,
    method,
    path: path + (search && `?${search}`),
    headers: {
      ...(accept && { accept }),
      ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
      ...(ifNoneMatch && { 'if-none-match': ifNoneMatch }),
    },
    timeoutMilliseconds: session.timeoutMilliseconds + (query.wait_seconds ?? 0) * 1000,
  });
}

/** @throws TypeError for `.` and `..`, because they would change the address's path */
function partOf(name: string | number): string {
  if (name === '.' || name === '..') throw new TypeError(`${name} is neither a name nor an id`);
  return encodeURIComponent(name);
}

/** Sends the request until it succeeds, fails for good or has no tries left. Use it only for requests that may be repeated. */
export function repeated<R extends Route>(session: Session, route: R, call: CallOf<R>): Promise<Answer> {
  const { signal, onRetry, idempotencyKey, query } = call as AnyCall;
  const isWaiting = Boolean(idempotencyKey && query?.wait_seconds);
  return retrying(() => once(session, route, call), { ...session, signal, onRetry, isWaiting });
}

/** The answer's JSON body, checked against its form. Repeats the request as `repeated` does. */
export async function read<R extends Route>(session: Session, route: R, call: CallOf<R>): Promise<AnswerBody<IdOf<R>>> {
  const answer = decodeJson(await repeated(session, route, call));
  return (await answerCheck()).checkAnswer(route, answer, (call as AnyCall).job_id);
}

/** Whether the service names this feature in its capabilities. */
export async function supports(session: Session, feature: string, signal?: AbortSignal): Promise<boolean> {
  return (await factsOf(session, signal)).features.includes(feature);
}

/** The service's capabilities, requested once for all calls; none if the service is older or refuses this caller. */
export async function factsOf(session: Session, signal?: AbortSignal): Promise<ServiceFacts> {
  signal?.throwIfAborted();
  // If the caller stops waiting, the request goes on, because another call may need the answer.
  session.facts ??= asked(session).catch((error: unknown) => {
    session.facts = null;
    throw error;
  });
  return await unlessAborted(session.facts, signal);
}

/** The service's capabilities, as they were received. The service sends them again only if they have changed. */
export async function saidOfItself(session: Session, signal?: AbortSignal): Promise<object> {
  const ifNoneMatch = session.said?.headers.get('etag') ?? undefined;
  const answer = await repeated(session, 'GET /v1/capabilities', { signal, ifNoneMatch, answerStatus: 304 });
  if (answer.status !== 304) session.said = answer;
  return decodeJson(session.said ?? answer);
}

async function asked(session: Session): Promise<ServiceFacts> {
  try {
    return (await answerCheck()).factsIn(await saidOfItself(session));
  } catch (error) {
    if (isRouteMissing(error) || (error instanceof ServiceFailure && error.status === 403)) return NO_FACTS;
    throw error;
  }
}

const NO_FACTS: ServiceFacts = { features: [], runsMax: null };

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    signal?.addEventListener('abort', abort);
    promise.then(resolve, reject).finally(() => signal?.removeEventListener('abort', abort));
  });
}

/** The session with another retry policy. */
export const withPolicy = (session: Session, changes: Partial<RetryPolicy>): Session => ({
  ...session,
  policy: { ...session.policy, ...changes },
});

/** The session for requests about work that the service has accepted. */
export const accepted = (session: Session): Session => withPolicy(session, { bearsLoss: true });

/** The session for requests that end work. The caller does not need the answers, so these requests must not delay the caller. */
export const ending = (session: Session): Session => ({
  ...session,
  timeoutMilliseconds: Math.min(session.timeoutMilliseconds, 5000),
});
