/**
 * The reference client: one typed method for each operation of the contract, and `run`, `workspace` and `verify`, which use those
 * methods. Reads are retried with backoff, and so are submissions with a key. A request that the service might carry out twice is
 * never retried. Spec § Endpoints.
 */
import { OPENMETRICS_MEDIA_TYPE, PROMETHEUS_MEDIA_TYPE } from '@vouchbox/protocol/vocabulary';
import { askUntilEnded, waitSecondsAtOnce } from './ask-until-ended.ts';
import type { RunningHash } from './blobs.ts';
import type {
  CancellationAnswer,
  Capabilities,
  EndingPage,
  FoldedResult,
  GradingCancellation,
  GradingDetail,
  GradingEvent,
  GradingList,
  GradingSubmission,
  Health,
  JobDetail,
  JobEvent,
  JobList,
  JobListItem,
  JobSubmission,
  LinkList,
  LinkRevocation,
  PendingStatements,
  PublicKey,
  Readiness,
  ServiceStatus,
  SessionList,
  SessionRemoval,
  StoredBlob,
  StreamTicket,
  ToolAnswer,
  ToolAnswerTaken,
  ToolCalls,
  Whoami,
} from './contract-types.ts';
import { checkExactBytes, type ExactBytes } from './exact-bytes.ts';
import type { TransportFailure } from './failure.ts';
import { type FollowOptions, followJob } from './follow.ts';
import type { GradeOptions, GradeResult, GradingClient } from './grade.ts';
import type { SubmitGradingOptions, SubmittedGrading } from './gradings.ts';
import type { CallOptions, ListOptions, ReplayOptions, SubmitOptions, Submitted, WaitOptions } from './job-options.ts';
import { listAll, promises, replay, result, storedEvents, submit, waitForResult } from './jobs.ts';
import type { CreatedLink, LinkOptions } from './links.ts';
import { orOlder, tooOld } from './older-route.ts';
import { accepted, answerCheck, ending, read, repeated, saidOfItself } from './operation.ts';
import type { ProgramSession, SessionOptions } from './program-session.ts';
import { type RunOptions, type RunResult, runProgram, runResultOf } from './run.ts';
import type { ToolOptions } from './run-tools.ts';
import { type ClientOptions, openSession } from './session.ts';
import { type FileContent, submissionOf } from './submission.ts';
import type { ToolCallsOptions } from './tools.ts';
import type { OpenRuns } from './turns.ts';
import type { Verified } from './verify-record.ts';
import type { Workspace } from './workspace.ts';

export interface MetricsOptions extends CallOptions {
  /** The format of the metrics; `openmetrics` by default. */
  readonly format?: 'openmetrics' | 'prometheus';
}

/** Metrics as text, in the requested format. */
export interface MetricsText {
  readonly mediaType: string;
  readonly text: string;
}

export interface ServiceClient {
  /** How many of this client's runs are open at the service, and how many wait in the client for their turn. */
  readonly runs: OpenRuns;
  /**
   * Runs a program and returns its result. If the program fails, that is a result, not an error. The job is cancelled if the
   * signal ends the call or a callback fails. Any number of calls may be open at once: while the service has no room, runs wait
   * in the client for their turn.
   * @param program code, in `language` (default `python`), or a whole submission of the contract
   */
  run(program: string | JobSubmission, options?: RunOptions): Promise<RunResult>;
  /**
   * Grades a program against tests that it does not see, in one request. The service runs each test in its own job. The verdict
   * is the output of another job, so it is signed. If the signal ends the call, the grading is cancelled.
   * @throws TypeError before the first job if there are no tests, two tests with the same name, or a test that no job can take
   * @throws TransportFailure `undecodable`, with the reason, if there is no verdict
   */
  grade(program: string | JobSubmission, options: GradeOptions): Promise<GradeResult>;
  /** An empty workspace: files that the caller's side keeps between runs. */
  workspace(): Promise<Workspace>;
  /**
   * Recomputes an ended job's whole history and receipt, and compares the two. Success shows that the record is whole, but not
   * who made it. To know that, check the attestation.
   * @throws EvidenceFailure with the first fault
   */
  verify(job_id: string, options?: CallOptions): Promise<Verified>;
  /**
   * Opens a session: each program begins with the variables and files that the previous one left. Without a name, the session
   * is a new one.
   */
  session(name?: string, options?: SessionOptions): Promise<ProgramSession>;
  /** The principal's sessions, by name. */
  sessions(options?: CallOptions): Promise<SessionList>;
  removeSession(name: string, options?: CallOptions): Promise<SessionRemoval>;
  /**
   * Makes a link by which anyone can read the job's result without a credential. Its `address` is returned only once. Only the
   * principal that submitted the job may make a link, and only if the operator allows links.
   */
  createLink(job_id: string, options?: LinkOptions): Promise<CreatedLink>;
  /** A job's links that have not ended. */
  links(job_id: string, options?: CallOptions): Promise<LinkList>;
  revokeLink(job_id: string, link_id: string, options?: CallOptions): Promise<LinkRevocation>;
  /** Stores a job. If the answer is lost, the request may be repeated: the same key and body give the same job. */
  submit(program: string | JobSubmission, options?: SubmitOptions): Promise<Submitted>;
  /** One page of the tenant's jobs, newest first. */
  list(options?: ListOptions): Promise<JobList>;
  /** Every job of the tenant, newest first, page by page. */
  listAll(options?: Omit<ListOptions, 'cursor'>): AsyncGenerator<JobListItem, void>;
  detail(job_id: string, options?: CallOptions): Promise<JobDetail>;
  cancel(job_id: string, options?: CallOptions): Promise<CancellationAnswer>;
  /** The result so far, terminal or not. The service waits up to `waitSeconds` (0–300) for the job to end. */
  result(job_id: string, options?: CallOptions & { readonly waitSeconds?: number }): Promise<FoldedResult>;
  /** The result once the job is terminal. The service holds the requests, so the detail is not polled. */
  waitForResult(job_id: string, options?: WaitOptions): Promise<FoldedResult>;
  replay(job_id: string, options?: ReplayOptions): Promise<EndingPage>;
  /** The events stored so far, page by page. Ends after the last stored event. */
  events(job_id: string, options?: ReplayOptions): AsyncGenerator<JobEvent, void>;
  /** Every event after `after`, once and in order, as it is recorded. Ends after `finished`. */
  follow(job_id: string, options?: FollowOptions): AsyncGenerator<JobEvent, void>;
  /** A one-use ticket for the job's stream. Each try makes a new ticket. */
  streamTicket(job_id: string, options?: CallOptions): Promise<StreamTicket>;
  /** The DSSE envelope, compared with its digest header. */
  attestation(job_id: string, options?: CallOptions): Promise<ExactBytes>;
  /** The canonical result artifact, compared with its digest header. */
  resultArtifact(job_id: string, options?: CallOptions): Promise<ExactBytes>;
  /** The signed promise: what the log will have, and by when. Waits at most `waitSeconds` (0–300) for the signature. */
  promise(job_id: string, options?: CallOptions & { readonly waitSeconds?: number }): Promise<ExactBytes>;
  /** The log's statements about a promised job that waited longer than was promised. */
  pending(job_id: string, options?: CallOptions): Promise<PendingStatements>;
  /** Open tool calls that this caller may answer. With `waitSeconds`, the service waits until there is a call. */
  toolCalls(job_id: string, options?: ToolCallsOptions): Promise<ToolCalls>;
  /** Answers a tool call, identified by the number of its event. Repeating an answer changes nothing. */
  answerToolCall(job_id: string, seq: number, answer: ToolAnswer, options?: CallOptions): Promise<ToolAnswerTaken>;
  /**
   * Answers a submitted job's open calls, with functions or from a history, until the job has ended. The credential must belong
   * to the principal that submitted the job or to one of its `tool_principals`.
   */
  answerToolCalls(job_id: string, options: ToolOptions & CallOptions): Promise<void>;
  /** The proof, for the latest head, that the log contains the envelope. */
  logProof(job_id: string, options?: CallOptions): Promise<ExactBytes>;
  /** The DSSE envelope of the canary that the job's own envelope names. */
  canary(job_id: string, options?: CallOptions): Promise<ExactBytes>;
  /**
   * Stores a file of at most 64 MiB, so that submissions can name it by `blob` instead of sending it. The file is removed if no
   * job has named it for the time stated in the capabilities.
   */
  upload(content: FileContent, options?: CallOptions): Promise<StoredBlob>;
  /** Fetches an uploaded file by its `sha256:…`, and compares its digest with that name. */
  download(blob: string, options?: CallOptions): Promise<ExactBytes>;
  /**
   * Downloads a blob piece by piece, so that memory never holds the whole file. `hash` is `createHash('sha256')` in Node. The
   * file is complete only if the generator ends without an error. A different digest is an error.
   */
  downloadPieces(
    blob: string,
    options: CallOptions & { readonly hash: RunningHash },
  ): Promise<AsyncGenerator<Uint8Array, void>>;
  /** Stores a grading: programs against tests, in one request. The request may be repeated, as with `submit`. */
  submitGrading(grading: GradingSubmission, options?: SubmitGradingOptions): Promise<SubmittedGrading>;
  /** One page of the tenant's gradings, newest first. */
  gradings(options?: Pick<ListOptions, 'limit' | 'cursor' | 'signal'>): Promise<GradingList>;
  /** A grading, ended or not. The service waits up to `waitSeconds` (0–300) for the grading to end. */
  grading(grading_id: string, options?: CallOptions & { readonly waitSeconds?: number }): Promise<GradingDetail>;
  /** A grading once it has ended. The service holds the requests. */
  waitForGrading(grading_id: string, options?: WaitOptions): Promise<GradingDetail>;
  cancelGrading(grading_id: string, options?: CallOptions): Promise<GradingCancellation>;
  /** A grading's events as they happen, each once and in order, until the grading has ended. */
  gradingEvents(grading_id: string, options?: ReplayOptions): AsyncGenerator<GradingEvent, void>;
  /** The signer's current key. It is not a trust anchor: pin a key that came another way. Spec § Authentication 10. */
  publicKey(options?: CallOptions): Promise<PublicKey>;
  capabilities(options?: CallOptions): Promise<Capabilities>;
  whoami(options?: CallOptions): Promise<Whoami>;
  status(options?: CallOptions): Promise<ServiceStatus>;
  health(options?: CallOptions): Promise<Health>;
  /** Whether the service is ready. The answer that it is not ready is not a failure. */
  readiness(options?: CallOptions): Promise<Readiness>;
  /** Gauges about the tenant's current jobs. They are no billing ledger. */
  metrics(options?: MetricsOptions): Promise<MetricsText>;
  /**
   * Metrics of the whole service, with the metrics token that the operator set. The client's credential is not sent.
   */
  serviceMetrics(metricsToken: string, options?: MetricsOptions): Promise<MetricsText>;
  /** The service's own OpenAPI document. */
  openapi(options?: CallOptions): Promise<Record<string, unknown>>;
}

/**
 * A client of one service with one credential. It holds no connection and need not be closed.
 * @throws TypeError before any request if `baseUrl` or `apiKey` cannot be right
 */
export function createServiceClient(options: ClientOptions): ServiceClient {
  const session = openSession(options);

  const metrics = async (
    route: 'GET /v1/metrics' | 'GET /metrics',
    { format, signal }: MetricsOptions = {},
    apiKey?: string,
  ) => {
    const accept = format === 'prometheus' ? PROMETHEUS_MEDIA_TYPE : OPENMETRICS_MEDIA_TYPE;
    const { headers, bytes } = await repeated(session, route, { accept, signal, ...(apiKey && { apiKey }) });
    return { mediaType: headers.get('content-type') ?? '', text: new TextDecoder().decode(bytes) };
  };
  const unsigned = async (missing: TransportFailure): Promise<never> => {
    throw tooOld('nothing is signed; the detail of a job has its receipt', missing);
  };
  const exactBytes = (
    route: 'attestation' | 'result-artifact' | 'log-proof' | 'canary',
    job_id: string,
    { signal }: CallOptions = {},
  ) => {
    const answer = repeated(session, `GET /v1/jobs/{id}/${route}`, { job_id, accept: '*/*', signal });
    return orOlder(
      answer.then((stored) => checkExactBytes(stored, session.sha256)),
      unsigned,
    );
  };

  const gradings = () => import('./gradings.ts');
  const tools = () => import('./tools.ts');
  const links = () => import('./links.ts');
  const ended: GradingClient['ended'] = async (job_id, { signal, limits }) =>
    runResultOf(session, await result(accepted(session), job_id, { signal }), { asked: limits, signal });
  const client: ServiceClient = {
    runs: session.turns,
    run: (program, running = {}) => runProgram(session, program, running),
    workspace: async () => (await import('./workspace.ts')).openWorkspace({ ...session, ...client }),
    grade: async (program, grading) => {
      const last = createServiceClient({ ...ending(session), retry: { attemptsMax: 1 } });
      const needed = { ...session, ...client, ended, submissionOf, last };
      return (await import('./grade.ts')).gradeProgram(needed, program, grading);
    },
    session: async (name, opening) =>
      (await import('./program-session.ts')).openProgramSession({ ...session, ...client }, name, opening),
    sessions: ({ signal } = {}) => read(session, 'GET /v1/sessions', { signal }),
    removeSession: (name, { signal } = {}) => read(session, 'DELETE /v1/sessions/{session}', { session: name, signal }),
    createLink: async (job_id, options = {}) => (await links()).createLink(session, job_id, options),
    links: async (job_id, options = {}) => (await links()).listLinks(session, job_id, options),
    revokeLink: async (job_id, id, options = {}) => (await links()).revokeLink(session, job_id, id, options),
    verify: async (job_id, reading = {}) =>
      (await import('./verify-record.ts')).verifyJob(job_id, { ...session, ...client }, reading),
    submit: (program, submitting = {}) => submit(session, program, submitting),
    list: ({ signal, ...query } = {}) => read(session, 'GET /v1/jobs', { query, signal }),
    listAll: (listing = {}) => listAll(session, listing),
    detail: (job_id, { signal } = {}) => read(session, 'GET /v1/jobs/{id}', { job_id, signal }),
    cancel: (job_id, { signal } = {}) => read(session, 'DELETE /v1/jobs/{id}', { job_id, signal }),
    result: (job_id, reading = {}) => result(session, job_id, reading),
    waitForResult: (job_id, waiting = {}) => waitForResult(session, job_id, waiting),
    replay: (job_id, reading = {}) => replay(session, job_id, reading),
    events: (job_id, reading = {}) => storedEvents(session, job_id, reading),
    follow: (job_id, following = {}) => followJob(session, job_id, following),
    streamTicket: (job_id, { signal } = {}) => read(session, 'POST /v1/jobs/{id}/stream-ticket', { job_id, signal }),
    attestation: (job_id, reading) => exactBytes('attestation', job_id, reading),
    resultArtifact: (job_id, reading) => exactBytes('result-artifact', job_id, reading),
    canary: (job_id, reading) => exactBytes('canary', job_id, reading),
    logProof: (job_id, reading) => exactBytes('log-proof', job_id, reading),
    promise: async (job_id, asking = {}) => (await promises()).signedPromise(session, job_id, asking),
    pending: (job_id, { signal } = {}) => read(session, 'GET /v1/jobs/{id}/pending', { job_id, signal }),
    toolCalls: async (job_id, options = {}) => (await tools()).openToolCalls(session, job_id, options),
    answerToolCall: async (job_id, seq, answer, { signal } = {}) =>
      (await tools()).answerToolCall(session, { job_id, seq, signal }, answer),
    answerToolCalls: async (job_id, options) =>
      (await import('./run-tools.ts')).answerCalls(session, job_id, { ...options, follow: followJob }),
    upload: async (content, sending) => (await import('./blobs.ts')).upload(session, content, sending),
    download: async (blob, reading) => (await import('./blobs.ts')).download(session, blob, reading),
    downloadPieces: async (blob, sending) => (await import('./blobs.ts')).pieces(session, blob, sending),
    submitGrading: async (grading, options = {}) => (await gradings()).submitGrading(session, grading, options),
    gradings: async (options = {}) => (await gradings()).listGradings(session, options),
    grading: async (id, options = {}) => (await gradings()).readGrading(session, id, options),
    waitForGrading: async (id, options = {}) => {
      const { readGrading } = await gradings();
      return await askUntilEnded(session, id, (asked, waiting) => readGrading(asked, id, waiting), options);
    },
    cancelGrading: async (id, options = {}) => (await gradings()).cancelGrading(session, id, options),
    gradingEvents: async function* (id, options = {}) {
      const { waitSeconds = waitSecondsAtOnce } = options;
      yield* (await gradings()).gradingEvents(session, id, { ...options, waitSeconds });
    },
    publicKey: ({ signal } = {}) => orOlder(read(session, 'GET /v1/attestation/public-key', { signal }), unsigned),
    capabilities: async ({ signal } = {}) =>
      (await answerCheck()).checkAnswer('GET /v1/capabilities', await saidOfItself(session, signal)),
    whoami: ({ signal } = {}) => read(session, 'GET /v1/whoami', { signal }),
    status: ({ signal } = {}) => read(session, 'GET /v1/status', { signal }),
    health: ({ signal } = {}) => read(session, 'GET /healthz', { signal }),
    readiness: ({ signal } = {}) => read(session, 'GET /readyz', { answerStatus: 503, signal }),
    metrics: (reading) => metrics('GET /v1/metrics', reading),
    serviceMetrics: (metricsToken, reading) => metrics('GET /metrics', reading, metricsToken),
    openapi: ({ signal } = {}) => read(session, 'GET /openapi.json', { signal }),
  };
  return client;
}
