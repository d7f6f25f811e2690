/**
 * The reference client: one typed method for each operation of the contract. Reads, and submissions with a key, are
 * retried with backoff. Nothing is retried that the service might do twice. Spec § Endpoints.
 */
import type {
  AnswerBody,
  CancellationAnswer,
  Capabilities,
  FoldedResult,
  Health,
  JobDetail,
  JobEvent,
  JobList,
  JobListItem,
  JobSubmission,
  OperationId,
  PublicKey,
  Readiness,
  ReplayPage,
  ServiceStatus,
  StreamTicket,
  SubmissionAnswer,
  Whoami,
} from '@vouchbox/protocol';
import { OPENMETRICS_MEDIA_TYPE, PROMETHEUS_MEDIA_TYPE, replayLimitMax } from '@vouchbox/protocol/vocabulary';
import { DEFAULT_RETRY, type RetryPolicy, retrying, type Sleep, sleepFor } from './backoff.ts';
import { checkExactBytes, type ExactBytes, platformSha256, type Sha256 } from './exact-bytes.ts';
import { ServiceFailure } from './failure.ts';
import { type FollowOptions, followJob } from './follow.ts';
import { createOlderServer, isRouteMissing, tooOld } from './older-server.ts';
import { exchangeOf, type OperationCall, type Query } from './operation-call.ts';
import { type Answer, decodeJson, type Endpoint, exchange } from './transport.ts';
import { type WaitOptions, waitForTerminal } from './wait.ts';

export interface ClientOptions extends Endpoint {
  readonly retry?: Partial<RetryPolicy>;
  /** Milliseconds for one exchange, in addition to the wait that the service was asked for. Default 30,000. */
  readonly timeoutMilliseconds?: number;
  /** The digest for exact bytes on platforms without SHA-256: pages served without TLS. */
  readonly sha256?: Sha256;
  /** Replaces the clock between tries. */
  readonly sleep?: Sleep;
  /**
   * `key-in-stream-url` allows a stream with the key in its address, for a trusted server from before stream tickets
   * that answers that it has no ticket route. Events and results of such a server cannot be had in another way. Off by
   * default: addresses end up in logs. Spec § Authentication 6.
   */
  readonly legacy?: 'none' | 'key-in-stream-url';
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface SubmitOptions extends CallOptions {
  /**
   * 1–128 visible ASCII bytes. Random if left out, so that every submission can be repeated. Null sends none: the
   * submission is then made once, and after a lost answer it is unknown whether a job exists.
   */
  readonly idempotencyKey?: string | null;
}

export interface Submitted extends SubmissionAnswer {
  /** Whether the key already belonged to this job. */
  readonly replayed: boolean;
  /** The key that was sent; null if none was. */
  readonly idempotencyKey: string | null;
}

export interface MetricsOptions extends CallOptions {
  /** Default `openmetrics`. */
  readonly format?: 'openmetrics' | 'prometheus';
}

/** Metrics as text, in the requested format. */
export interface MetricsText {
  readonly mediaType: string;
  readonly text: string;
}

/** A page of at most `limit` jobs, of these statuses and this language, after the page whose `next_cursor` it was. */
export type ListOptions = CallOptions & Partial<Query<'listJobs'>>;

/** A page of at most `limit` events. `after` is the last sequence number already seen. */
export type ReplayOptions = CallOptions & Partial<Query<'replayEvents'>>;

export interface ServiceClient {
  /** Stores a job. A lost answer does no harm: the same key and body give the same job. */
  submit(submission: JobSubmission, options?: SubmitOptions): Promise<Submitted>;
  /** One page of the tenant's jobs, newest first. */
  list(options?: ListOptions): Promise<JobList>;
  /** Every job of the tenant, newest first, page by page. */
  listAll(options?: Omit<ListOptions, 'cursor'>): AsyncGenerator<JobListItem, void>;
  detail(job_id: string, options?: CallOptions): Promise<JobDetail>;
  cancel(job_id: string, options?: CallOptions): Promise<CancellationAnswer>;
  /** The result as it is after at most `waitSeconds` (0–300): terminal or not. */
  result(job_id: string, options?: CallOptions & { readonly waitSeconds?: number }): Promise<FoldedResult>;
  /** The result once the job is terminal. The service holds the wait; the detail is not polled. */
  waitForResult(job_id: string, options?: WaitOptions): Promise<FoldedResult>;
  replay(job_id: string, options?: ReplayOptions): Promise<ReplayPage>;
  /** The events stored so far, page by page. Ends after the last stored one. */
  events(job_id: string, options?: ReplayOptions): AsyncGenerator<JobEvent, void>;
  /** Every event after `after`, each once and in order, as it is recorded. Ends after `finished`. */
  follow(job_id: string, options?: FollowOptions): AsyncGenerator<JobEvent, void>;
  /** A one-use ticket for the job's stream. Each try mints another. */
  streamTicket(job_id: string, options?: CallOptions): Promise<StreamTicket>;
  /** The DSSE envelope, compared with its digest header. */
  attestation(job_id: string, options?: CallOptions): Promise<ExactBytes>;
  /** The canonical result artifact, compared with its digest header. */
  resultArtifact(job_id: string, options?: CallOptions): Promise<ExactBytes>;
  /** The signer's current key. No trust anchor: pin a key that came another way. Spec § Authentication 10. */
  publicKey(options?: CallOptions): Promise<PublicKey>;
  capabilities(options?: CallOptions): Promise<Capabilities>;
  whoami(options?: CallOptions): Promise<Whoami>;
  status(options?: CallOptions): Promise<ServiceStatus>;
  health(options?: CallOptions): Promise<Health>;
  /** Whether the service is ready. A service that is not ready answers too; that is no failure. */
  readiness(options?: CallOptions): Promise<Readiness>;
  /** Gauges over the tenant's current jobs. Not a billing ledger. */
  metrics(options?: MetricsOptions): Promise<MetricsText>;
  /**
   * Metrics of the whole service, with the metrics token that the operator set. The client's credential is not sent.
   */
  serviceMetrics(metricsToken: string, options?: MetricsOptions): Promise<MetricsText>;
  /** The service's own OpenAPI document. */
  openapi(options?: CallOptions): Promise<Record<string, unknown>>;
}

const METRICS_MEDIA_TYPES = { openmetrics: OPENMETRICS_MEDIA_TYPE, prometheus: PROMETHEUS_MEDIA_TYPE } as const;

/** A client of one service with one credential. It holds no connection and needs no closing. */
export function createServiceClient(options: ClientOptions): ServiceClient {
  const timeoutMilliseconds = options.timeoutMilliseconds ?? 30_000;
  const sleep = options.sleep ?? sleepFor;
  const policy = { ...DEFAULT_RETRY, ...options.retry };

  const once = <Id extends OperationId>(id: Id, asked: OperationCall<Id>, endpoint: Endpoint = options) => {
    const waitSeconds = (asked.query as Query<'getResult'> | undefined)?.wait_seconds ?? 0;
    return exchange(endpoint, {
      ...exchangeOf(id, asked),
      timeoutMilliseconds: timeoutMilliseconds + waitSeconds * 1000,
    });
  };
  const call = <Id extends OperationId>(id: Id, asked: OperationCall<Id>, endpoint?: Endpoint): Promise<Answer> =>
    retrying(() => once(id, asked, endpoint), { policy, sleep, signal: asked.signal });
  const read = async <Id extends OperationId>(id: Id, asked: OperationCall<Id>): Promise<AnswerBody<Id>> =>
    decodeJson<AnswerBody<Id>>(await call(id, asked));
  const metrics = async (
    id: 'getTenantMetrics' | 'getMetrics',
    { format = 'openmetrics', signal }: MetricsOptions,
    endpoint?: Endpoint,
  ) => {
    const answer = await call(id, { accept: METRICS_MEDIA_TYPES[format], signal }, endpoint);
    return { mediaType: answer.headers.get('content-type') ?? '', text: new TextDecoder().decode(answer.bytes) };
  };
  const exactBytes = async (id: 'getAttestation' | 'getResultArtifact', job_id: string, { signal }: CallOptions) =>
    checkExactBytes(await call(id, { job_id, accept: '*/*', signal }), options.sha256 ?? platformSha256);

  const legacy = options.legacy ?? 'none';
  const older = createOlderServer({
    endpoint: options,
    legacy,
    policy,
    sleep,
    detail: (job_id, read) => client.detail(job_id, read),
  });
  /** Requests a route of v0.4, or uses the fallback if the server is older. */
  const orOlder = async <T>(asked: Promise<T>, standIn: (missing: unknown) => Promise<T>): Promise<T> => {
    try {
      return await asked;
    } catch (error) {
      if (isRouteMissing(error)) return await standIn(error);
      throw error;
    }
  };
  const unsigned = async (missing: unknown): Promise<never> => {
    throw tooOld('nothing is signed; the detail of a job has its receipt', missing);
  };

  const client: ServiceClient = {
    async submit(submission, { idempotencyKey = randomKey(), signal } = {}) {
      const asked = { body: submission, signal };
      const answer =
        idempotencyKey === null
          ? await once('submitJob', asked)
          : await call('submitJob', { ...asked, idempotencyKey });
      const replayed = answer.headers.get('idempotency-replayed') === 'true';
      return { ...decodeJson<SubmissionAnswer>(answer), replayed, idempotencyKey };
    },
    list: ({ limit, cursor, status, language, signal } = {}) =>
      read('listJobs', { query: { limit, cursor, status, language }, signal }),
    async *listAll(listing = {}) {
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = await client.list({ ...listing, ...(cursor !== undefined && { cursor }) });
        yield* page.items;
        cursor = page.next_cursor;
      }
    },
    detail: (job_id, { signal } = {}) => read('getJob', { job_id, signal }),
    cancel: (job_id, { signal } = {}) => read('cancelJob', { job_id, signal }),
    result: (job_id, { waitSeconds, signal } = {}) =>
      orOlder(read('getResult', { job_id, query: { wait_seconds: waitSeconds }, signal }), (missing) =>
        older.result(job_id, { waitSeconds: waitSeconds ?? 0, signal, missing }),
      ),
    waitForResult: (job_id, waiting = {}) =>
      waitForTerminal((waitSeconds) => client.result(job_id, { waitSeconds, signal: waiting.signal }), {
        ...waiting,
        policy,
        sleep,
      }),
    replay: (job_id, { after, limit, signal } = {}) =>
      orOlder(read('replayEvents', { job_id, query: { after, limit }, signal }), (missing) =>
        older.replay(job_id, { after: after ?? 0, limit: limit ?? replayLimitMax, signal, missing }),
      ),
    async *events(job_id, { after = 0, ...page } = {}) {
      for (let cursor = after; ; ) {
        const { events, next_cursor } = await client.replay(job_id, { ...page, after: cursor });
        yield* events;
        if (next_cursor === null || events.length === 0) return;
        cursor = next_cursor;
      }
    },
    follow: (job_id, following = {}) =>
      followJob({
        ...following,
        job_id,
        client,
        endpoint: options,
        legacy,
        policy,
        sleep,
        whyRefused: () =>
          once('streamEvents', { job_id, signal: following.signal }).then(
            () => null,
            (error: unknown) => (isStreamRefusal(error) ? error : null),
          ),
      }),
    streamTicket: (job_id, { signal } = {}) => read('mintStreamTicket', { job_id, signal }),
    attestation: (job_id, reading = {}) => orOlder(exactBytes('getAttestation', job_id, reading), unsigned),
    resultArtifact: (job_id, reading = {}) => orOlder(exactBytes('getResultArtifact', job_id, reading), unsigned),
    publicKey: ({ signal } = {}) => orOlder(read('getPublicKey', { signal }), unsigned),
    capabilities: ({ signal } = {}) => read('getCapabilities', { signal }),
    whoami: ({ signal } = {}) => read('getWhoami', { signal }),
    status: ({ signal } = {}) => read('getStatus', { signal }),
    health: ({ signal } = {}) => read('getHealth', { signal }),
    readiness: ({ signal } = {}) => read('getReadiness', { answerStatus: 503, signal }),
    metrics: (reading = {}) => metrics('getTenantMetrics', reading),
    serviceMetrics: (metricsToken, reading = {}) =>
      metrics('getMetrics', reading, { baseUrl: options.baseUrl, apiKey: metricsToken }),
    openapi: ({ signal } = {}) => read('getContract', { signal }),
  };
  return client;
}

/** 128 random bits. `crypto.randomUUID` is missing from pages served without TLS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Platforms hide why a WebSocket was refused. A plain request for the stream gets the same refusal, and if there is
 * none it is refused for not being a WebSocket.
 */
function isStreamRefusal(error: unknown): error is ServiceFailure {
  if (!(error instanceof ServiceFailure)) return false;
  return [401, 403, 429, 503].includes(error.status) || error.code === 'job_not_found';
}
