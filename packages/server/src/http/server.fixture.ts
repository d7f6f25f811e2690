/** The HTTP side alone, for its tests: a real listener on a free port, with jobs in memory. Other tests use a whole service. */

import {
  type CancellationAnswer,
  type ErrorCode,
  type FoldedResult,
  isTerminal,
  type JobDetail,
  type JobEvent,
  type JobList,
  PROMETHEUS_MEDIA_TYPE,
  type ReplayPage,
  type Scope,
  type SubmissionAnswer,
  type ToolCalls,
} from '@vouchbox/protocol';
import { pino } from 'pino';
import { type Access, type CredentialKind, createAccess } from '../access/authenticate.ts';
import { createLegacyKeys } from '../access/legacy.ts';
import { createLinks, type LinksOptions } from '../access/links.ts';
import { createTickets, type TicketsOptions } from '../access/tickets.ts';
import { createPermits, type PermitBound, type PermitKind, type Permits } from '../capacity/permits.ts';
import { createRateBudget, type RateBound } from '../capacity/rate.ts';
import type { Caller } from '../ground/caller.ts';
import { type JsonText, textOf } from '../ground/json-text.ts';
import { ServiceError } from '../ground/service-error.ts';
import type { Blobs } from '../job/blobs/blobs.ts';
import { bodyOf, LongJson } from '../job/body.ts';
import type { Gradings } from '../job/gradings.ts';
import type { Jobs, Submission } from '../job/jobs.ts';
import type { PublicLog } from '../job/log/read-log.ts';
import { blobNotFound } from '../job/refusals.ts';
import type { Sessions } from '../job/sessions.ts';
import type { ResultAnswer } from '../job/view/result.ts';
import { NO_OBSERVER, type Observer } from '../telemetry/observer.ts';
import type { Metrics } from './answer/metrics.ts';
import { createApp, type ServiceFacts, UNLISTED_REFUSAL } from './app.ts';
import { type ListenOptions, listen } from './connections/listener.ts';
import { TRANSPORT_BOUNDS, type TransportBounds } from './connections/transport.ts';
import { memoryGradings } from './gradings.fixture.ts';
import { memoryLinked, memoryLinks } from './links.fixture.ts';
import { MEMORY_LOG } from './log.fixture.ts';
import type { Page } from './pages/built-pages.ts';
import { memorySessions } from './sessions.fixture.ts';
import { memoryTickets } from './tickets.fixture.ts';

/** The keys of two tenants. Each key has every scope. */
export const KEY_OF_ACME = 'key-of-acme';
export const KEY_OF_OTHER = 'key-of-other';
/** A job that acme always has. */
export const JOB = 'job_0193a8f0-0000-7000-8000-000000000001';

/** The digest of an empty blob that acme always has. */
export const BLOB = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

export interface TestServerOptions {
  readonly jobs?: Partial<Jobs>;
  readonly blobs?: Partial<Blobs>;
  /** By default, tickets are kept in memory. */
  readonly ticketRows?: TicketsOptions['rows'];
  readonly linkRows?: Partial<LinksOptions['rows']>;
  /** Default: true. */
  readonly allowsLinks?: boolean;
  readonly rate?: RateBound;
  readonly permits?: Partial<Record<PermitKind, PermitBound>>;
  readonly bounds?: Partial<TransportBounds>;
  readonly metricsToken?: string;
  readonly allowedOrigins?: readonly string[];
  readonly metrics?: Metrics;
  readonly service?: Partial<ServiceFacts>;
  readonly observer?: Observer;
  readonly pages?: readonly Page[];
  /** Null for a service that keeps no log. */
  readonly publicLog?: Partial<PublicLog> | null;
  readonly gradings?: Partial<Gradings>;
  readonly sessions?: Partial<Sessions>;
  readonly address?: ListenOptions;
  /** Kinds of credentials that are tried before the legacy keys. */
  readonly credentials?: readonly CredentialKind[];
}

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly permits: Permits;
  /** The submissions, in order. */
  readonly submissions: readonly Submission[];
  /** Log lines, parsed. */
  readonly log: readonly Record<string, unknown>[];
  /** Announces that the service is stopping. */
  stop(): void;
}

const WIDE: PermitBound = { total: 1000, perTenant: 1000 };

export async function openServer(options: TestServerOptions = {}): Promise<TestServer> {
  const submissions: Submission[] = [];
  const log: Record<string, unknown>[] = [];
  const stopping = new AbortController();
  const permits = createPermits({ body: WIDE, wait: WIDE, stream: WIDE, response: WIDE, ...options.permits });
  const access = accessOf(options.credentials ?? []);
  const app = createApp({
    ...storesOf(options, submissions),
    access,
    tickets: createTickets({ rows: options.ticketRows ?? memoryTickets(JOB), access }),
    links: createLinks({
      rows: { ...memoryLinks(accessOf([]), { key: KEY_OF_ACME, job: JOB }), ...options.linkRows },
      access,
    }),
    allowsLinks: options.allowsLinks ?? true,
    permits,
    rate: createRateBudget(options.rate ?? { perSecond: 100_000, burst: 100_000 }),
    service: { ...FACTS, ...options.service },
    metrics: options.metrics ?? METRICS,
    openapi: Buffer.from('{"openapi":"3.1.0"}'),
    log: pino({ level: 'debug' }, { write: (line: string) => log.push(JSON.parse(line) as Record<string, unknown>) }),
    metricsToken: options.metricsToken ?? null,
    allowedOrigins: options.allowedOrigins ?? [],
    pages: options.pages ?? [],
    ...(options.rate && { logRate: options.rate, linkRate: options.rate }),
    stopping: stopping.signal,
    ...(options.bounds && { bounds: options.bounds }),
    connectionsOfPeer: TRANSPORT_BOUNDS.connectionsOfPeer,
    isEmbedded: false,
    servesApi: true,
    observer: options.observer ?? NO_OBSERVER,
  });
  const { url, port } = await listen(app, options.address ?? { host: '127.0.0.1', port: 0 });
  return {
    url,
    port,
    permits,
    submissions,
    log,
    stop: () => stopping.abort(),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      app.server.closeAllConnections();
      await app.close();
      for (const line of log) if (line['msg'] === UNLISTED_REFUSAL) throw new Error(JSON.stringify(line));
    },
  };
}

/** The data behind the routes. It is in memory unless a test gives other data. */
function storesOf({ jobs, gradings, sessions, blobs, publicLog }: TestServerOptions, submissions: Submission[]) {
  return {
    jobs: { ...memoryJobs(submissions), ...jobs },
    gradings: { ...memoryGradings(ANSWER), ...gradings },
    sessions: { ...memorySessions(ANSWER), ...sessions },
    blobs: { ...memoryBlobs(), ...blobs },
    publicLog: publicLog === null ? null : { ...MEMORY_LOG, ...publicLog },
  };
}

function accessOf(credentials: readonly CredentialKind[]): Access {
  const legacy = createLegacyKeys([
    { tenant: 'acme', key: KEY_OF_ACME },
    { tenant: 'other', key: KEY_OF_OTHER },
  ]);
  return createAccess([...credentials, legacy]);
}

/** A kind of credential with a single token, which belongs to acme and has these scopes. */
export function credentialWith(token: string, scopes: readonly Scope[]): CredentialKind {
  const caller: Caller = {
    tenant: 'acme',
    principal: 'tester',
    auth_method: 'key',
    credential_id: 'tester_1',
    scopes: [...scopes],
    expires_at: null,
  };
  return {
    method: 'key',
    resolve: async (candidate) => (candidate === token ? caller : null),
    stands: async () => true,
  };
}

/** The headers of a request with this key. */
export function bearer(key = KEY_OF_ACME): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}

const FACTS: ServiceFacts = {
  capabilities: () => ({
    version: '0.1.0',
    languages: ['bash'],
    isolation_class: 'none',
    limits: {
      defaults: { wall_seconds: 1, cpu_seconds: 1, mem_mb: 1, max_pids: 1, max_file_mb: 1 },
      ceilings: { wall_seconds: 1, cpu_seconds: 1, mem_mb: 1, max_pids: 1, max_file_mb: 1 },
    },
    artifacts: { max_files: 1, max_file_bytes: 1, max_total_bytes: 1 },
    blobs: { max_blob_bytes: 1, max_job_bytes: 1, max_blobs: 1, max_total_bytes: 1, keep_seconds: 1 },
    concurrent_mem_mb_max: 1,
    per_tenant: { waits_max: 1, queue_max: 1, requests_per_second: 1, requests_burst: 1 },
    runtime_packs: [],
    features: [],
    signer: null,
  }),
  status: async () => ({
    status: 'ok',
    version: '0.1.0',
    uptime_seconds: 1,
    queue: { depth: 0, capacity: 1, oldest_age_ms: null },
    running: 0,
    draining: false,
    signer: { enabled: false, outbox_depth: 0, last_error: null, last_error_at: null },
    log: null,
    provider: { backend: null, isolation_class: null, ready: true, passed_over: null },
    parked: { cells: 0, mem_mb: 0, mem_mb_max: 0 },
    object_store: null,
  }),
  publicKey: () => null,
  readiness: () => ({ status: 'ready', checks: { store: true, provider: true, free_space: true, accepting: true } }),
};

const METRICS: Metrics = {
  ofTenant: async () => ({ mediaType: PROMETHEUS_MEDIA_TYPE, text: '' }),
  ofService: async () => ({ mediaType: PROMETHEUS_MEDIA_TYPE, text: '' }),
};

function memoryJobs(submissions: Submission[]): Jobs {
  const owned = (caller: Caller, job_id: string) => {
    if (caller.tenant === 'acme' && job_id === JOB) return;
    throw new ServiceError('job_not_found', 'No such job belongs to the tenant.');
  };
  const refuse = (caller: Caller, job_id: string, code: ErrorCode): never => {
    owned(caller, job_id);
    throw new ServiceError(code, 'There is none.');
  };
  const event: JobEvent = {
    job_id: JOB,
    seq: 1,
    timestamp: '2026-01-01T00:00:00.000Z',
    kind: 'queued',
    data: {},
    hash_version: 1,
    prev_hash: null,
    event_hash: null,
  };
  return {
    submit: async (_caller, submission) => {
      submissions.push(submission);
      return { answer: ANSWER, replayed: false };
    },
    list: async () => textOf<JobList>({ items: [], next_cursor: null }),
    detail: async (caller, job_id) => {
      owned(caller, job_id);
      return textOf({ job_id, status: 'running' }) as JsonText<JobDetail>;
    },
    receipt: async () => null,
    cancel: async (caller, job_id) => {
      owned(caller, job_id);
      return textOf({ job_id, status: 'running', already_terminal: false }) as JsonText<CancellationAnswer>;
    },
    result: async (caller, job_id) => {
      owned(caller, job_id);
      return resultOf(RESULT);
    },
    ...memoryLinked({ owned, blob: BLOB }),
    replay: async (caller, job_id) => {
      owned(caller, job_id);
      return { isEmpty: false, body: bodyOf(new LongJson(textOf<ReplayPage>({ events: [event], next_cursor: 1 }))) };
    },
    toolCalls: async (caller, job_id) =>
      owned(caller, job_id) ?? { isEmpty: false, text: textOf<ToolCalls>({ calls: [], next_cursor: null }) },
    answerToolCall: async (caller, job_id, { seq }) =>
      owned(caller, job_id) ?? { call_seq: seq, seq: seq + 1, replayed: false },
    answersTools: async () => false,
    logProof: async (caller, job_id) => refuse(caller, job_id, 'not_logged'),
    promise: async (caller, job_id) => owned(caller, job_id) ?? { bytes: Uint8Array.of(123, 125), sha256: BLOB },
    pending: async (caller, job_id) => owned(caller, job_id) ?? { items: [] },
    canary: async (caller, job_id) => refuse(caller, job_id, 'canary_not_found'),
    attestation: async (caller, job_id) => refuse(caller, job_id, 'attestation_disabled'),
    async *tail(caller, job_id) {
      owned(caller, job_id);
      yield [textOf(event)];
    },
  };
}

/** Accepts any upload, but contains only the empty blob. */
function memoryBlobs(): Blobs {
  return {
    checkBudget() {},
    async receive(_caller, { sha256, chunks }) {
      let size_bytes = 0;
      for await (const chunk of chunks) size_bytes += chunk.length;
      return { isKnown: false, stored: { blob: `sha256:${sha256}`, size_bytes, expires_at: ANSWER.created_at } };
    },
    async content(caller, sha256) {
      if (caller.tenant !== 'acme' || sha256 !== BLOB) throw blobNotFound();
      return { bytes: 0, async *pieces() {} };
    },
  };
}

const ANSWER: SubmissionAnswer = {
  job_id: JOB,
  status: 'queued',
  created_at: '2026-01-01T00:00:00.000Z',
  stream_url: `/v1/jobs/${JOB}/stream`,
  history_url: `/v1/jobs/${JOB}/replay`,
  result_url: `/v1/jobs/${JOB}/result`,
};

/** What `Jobs.result` returns for this result. */
export function resultOf(result: FoldedResult): ResultAnswer {
  return { hasEnded: isTerminal(result.status), body: bodyOf(new LongJson(textOf(result))) };
}

export const RESULT: FoldedResult = {
  job_id: JOB,
  status: 'running',
  exit_code: null,
  duration_ms: null,
  stdout: '',
  stderr: '',
  truncated: false,
  violations: [],
  artifacts: [],
};
