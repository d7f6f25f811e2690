/** Runs a program to its end in one call, and ends the job if the call is broken off. */
import { clampedLimits, outputText } from '@vouchbox/protocol/vocabulary';
import { waitSecondsAtOnce } from './ask-until-ended.ts';
import type {
  Artifact,
  EffectiveLimits,
  EndFrame,
  FoldedResult,
  IsolationClass,
  JobDetail,
  JobEvent,
  JobSubmission,
  LimitsInput,
  Receipt,
  SubmissionAnswer,
  SubmissionInclude,
  Violation,
} from './contract-types.ts';
import { randomKey } from './digest.ts';
import { EvidenceFailure, ServiceFailure, TransportFailure } from './failure.ts';
import { type FollowOptions, followJob } from './follow.ts';
import type { CallOptions, Submitted } from './job-options.ts';
import type { JobPromise, PromiseWish } from './job-promise.ts';
import { promises, storedEvents, submit, waitForResult } from './jobs.ts';
import { accepted, answerCheck, ending, factsOf, once, read, supports, withPolicy } from './operation.ts';
import type { ToolOptions } from './run-tools.ts';
import type { Session } from './session.ts';
import { type ProgramOptions, submissionOf } from './submission.ts';
import { decodeJson } from './transport.ts';

/** Called with output exactly as the program wrote it, newlines included. The next piece waits for the returned promise. */
export type OnText = (text: string) => unknown;

export interface RunOptions extends CallOptions, ProgramOptions, ToolOptions, Pick<FollowOptions, 'onState'> {
  /** 1–128 visible ASCII bytes. Random if left out. */
  readonly idempotencyKey?: string | undefined;
  /** Called with what the program writes to stdout while it runs. */
  readonly onStdout?: OnText | undefined;
  readonly onStderr?: OnText | undefined;
  /** Called with each of the job's events while it runs. */
  readonly onEvent?: ((event: JobEvent) => unknown) | undefined;
  /**
   * Whether to ask for a promise and keep it with the result. With `required`, a run counts as accepted only with a promise:
   * if none comes, or if the service keeps no log, the job is cancelled and the run fails.
   */
  readonly promise?: PromiseWish | undefined;
  /** Whether to return all of the job's events with the result. */
  readonly history?: boolean | undefined;
  /**
   * How long one request waits in total for room in the service or for the caller's budget. Once the job is accepted,
   * this is also how long the service may be lost. The default is `patienceSeconds` in the client's `retry`. The time
   * that a program waits in the client for its turn does not count.
   */
  readonly patienceSeconds?: number | undefined;
}

/** A program's result. Members that come from the contract are spelled as in the contract. */
export interface RunResult extends Omit<FoldedResult, 'artifacts'>, Pick<JobDetail, 'terminal_reason' | 'signal'> {
  /** The files that the program left, keyed by paths such as `output/plot.png`. Each has the digest that the service recorded. */
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
  /** The isolation between the program and the host, as observed while it ran. Null if nothing was observed. */
  readonly isolation_class: IsolationClass | null;
  /** The limits in force; null if no program ran. A single limit is null if it was not observed. */
  readonly effective_limits: EffectiveLimits | null;
  /** Requested limits that differ from those in force, because the service has ceilings. Each has the value in force. */
  readonly clamped: Readonly<Partial<Record<keyof EffectiveLimits, number>>>;
  /** The files that did not come back, and why: too large, too many, not a file, not written. Empty if nothing is lost. */
  readonly lost: readonly Violation[];
  /** The digest of the job's receipt. */
  readonly receipt_sha256: string;
  readonly receipt: Receipt;
  /** The job's signed promise; null if none was asked for or none came. */
  readonly promise: JobPromise | null;
  /** Every event, if the call asked for them. */
  readonly history?: readonly JobEvent[];
}

/** How many runs are open at once if the service does not say how many a tenant may have. */
const runsUsual = 8;

/** Waits for the run's turn, then runs the program and returns its result. */
export async function runProgram(
  session: Session,
  program: string | JobSubmission,
  options: RunOptions,
): Promise<RunResult> {
  const { signal, patienceSeconds = session.policy.patienceSeconds, ...others } = options;
  const { runsMax } = await factsOf(session, signal);
  await session.turns.take(runsMax ?? runsUsual, signal);
  try {
    const patient = withPolicy(session, { patienceSeconds });
    return await runInTurn(patient, program, { ...others, signal });
  } finally {
    session.turns.passOn();
  }
}

async function runInTurn(
  session: Session,
  program: string | JobSubmission,
  {
    idempotencyKey = randomKey(),
    onStdout,
    onStderr,
    onEvent,
    onState,
    history = false,
    promise = false,
    signal,
    tools,
    approve,
    toolLimits,
    toolsAtOnce,
    replay,
    ...options
  }: RunOptions,
): Promise<RunResult> {
  // Tool calls are events, so a run with tools must receive events.
  const callable = (tools ?? replay) && { tools, approve, toolLimits, toolsAtOnce, replay };
  const hears = [onStdout, onStderr, onEvent, onState, callable].some((callback) => callback !== undefined);
  const isHeld = await supports(session, 'submission_wait', signal);
  const tellsMore = await supports(session, 'submission_include', signal);
  const tellsEnd = hears && (await supports(session, 'stream_include', signal));
  const streams = tellsEnd && globalThis.WebSocket !== undefined;
  const submission = await submissionOfRun(session, program, { ...options, callable, promise, signal });
  signal?.throwIfAborted();
  let stored: Pick<Submitted, 'job_id' | 'promise'> | null = null;
  try {
    const waitSeconds = isHeld && !hears ? waitSecondsAtOnce : undefined;
    const include = includeOf({ tellsMore, hears, streams, history });
    const submitted = await submit(session, submission, { idempotencyKey, waitSeconds, include, promise, signal });
    const { job_id } = submitted;
    stored = submitted;
    const hearing = { onStdout, onStderr, onEvent, onState, callable, tellsEnd, signal };
    const told = hears ? await hear(session, submitted, hearing) : submitted;
    const ended = told.result ?? (await waitForResult(session, job_id, { signal }));
    const folded = await runResultOf(session, ended, { ...told, asked: submission.limits, signal });
    const result = { ...folded, promise: submitted.promise };
    if (!history) return result;
    const events = () => Array.fromAsync(storedEvents(accepted(session), job_id, { signal }));
    return { ...result, history: submitted.history?.events ?? (await events()) };
  } catch (error) {
    // The signal's reason comes from the caller, and may be the error of another run.
    const tells = isTelling(error) && !signal?.aborted;
    const job_id = stored?.job_id ?? (tells ? error.job_id : null);
    // A failure to end the job is ignored: `error` says more, and the job's limits will end the job in any case.
    if (job_id !== null || !tells) await abandon(session, submission, idempotencyKey, job_id).catch(() => {});
    // An error from a callback may name the job of another run.
    if (tells && error.job_id === null && Object.isExtensible(error))
      Object.assign(error, { job_id, promise: stored?.promise ?? null });
    throw error;
  }
}

/** The code for tools, loaded with the first run that has tools. */
const runTools = () => import('./run-tools.ts');

interface Hearing extends Pick<RunOptions, 'onEvent' | 'onStdout' | 'onStderr' | 'onState' | 'signal'> {
  readonly callable: ToolOptions | undefined;
  /** Whether the stream or the last page has the job's outcome. */
  readonly tellsEnd: boolean;
}

/** Passes a job's events on until the job has ended, and returns the outcome if it was received. */
async function hear(
  session: Session,
  submitted: Submitted,
  { callable, tellsEnd, onState, signal, ...callbacks }: Hearing,
): Promise<EndFrame> {
  const { job_id, stream_ticket: { stream_url } = {} } = submitted;
  let told: EndFrame = {};
  const onEnd = (frame: EndFrame) => {
    told = frame;
  };
  const runner = callable && (await runTools()).answeringFor(session, submitted, callable);
  const during = { signal: runner?.during(signal) ?? signal, onState, stream_url, answers: runner?.answers };
  try {
    for await (const event of followJob(session, job_id, { ...during, onEnd: tellsEnd ? onEnd : undefined })) {
      await runner?.take(event);
      await passOn(event, callbacks);
    }
  } finally {
    runner?.end();
  }
  (await answerCheck()).checkSubmission({ ...told, job_id, status: '' });
  return told;
}

async function passOn(
  event: JobEvent,
  { onEvent, onStdout, onStderr }: Pick<RunOptions, 'onEvent' | 'onStdout' | 'onStderr'>,
) {
  await onEvent?.(event);
  if (event.kind === 'stdout') await onStdout?.(outputText(event.data));
  if (event.kind === 'stderr') await onStderr?.(outputText(event.data));
}

/** Whether an error can say which job was accepted. */
function isTelling(error: unknown): error is ServiceFailure | TransportFailure | EvidenceFailure {
  return [ServiceFailure, TransportFailure, EvidenceFailure].some((kind) => error instanceof kind);
}

async function submissionOfRun(
  session: Session,
  program: string | JobSubmission,
  {
    promise,
    callable,
    signal,
    ...options
  }: ProgramOptions & CallOptions & { readonly promise: PromiseWish; readonly callable: ToolOptions | undefined },
): Promise<JobSubmission> {
  const given = await submissionOf(program, options);
  const submission = callable === undefined ? given : (await runTools()).withTools(given, callable);
  // A build's only output is its product.
  const mayName = submission.build === undefined && (await supports(session, 'output_patterns', signal));
  if (mayName) submission.outputs ??= ['output/**'];
  // `abandon` sends this object again, so the object must be complete.
  if (promise !== false && (await (await promises()).promising(session, promise, signal))) submission.promise = true;
  return submission;
}

/** What the answer to the submission must include so that the run needs no further request, except for a stream. */
function includeOf(asked: Readonly<Record<'tellsMore' | 'hears' | 'streams' | 'history', boolean>>) {
  const words: Exclude<SubmissionInclude, 'promise'>[] = [];
  if (asked.streams) words.push('stream_ticket');
  if (asked.tellsMore && !asked.hears) words.push('receipt');
  if (asked.tellsMore && !asked.hears && asked.history) words.push('history');
  return words.length === 0 ? undefined : words;
}

/** Cancels the job, with one try of a few seconds. If the submission was interrupted, its idempotency key identifies the job. */
async function abandon(
  session: Session,
  body: JobSubmission,
  idempotencyKey: string,
  job_id: string | null,
): Promise<void> {
  const last = ending(session);
  const stored = async () => decodeJson(await once(last, 'POST /v1/jobs', { body, idempotencyKey }));
  const named = job_id ?? (await answerCheck()).checkAnswer<SubmissionAnswer>('POST /v1/jobs', await stored()).job_id;
  await once(last, 'DELETE /v1/jobs/{id}', { job_id: named });
}

/**
 * A terminal result, with its files as bytes, and with what the receipt says about how the program ran. If the outcome was not
 * received, it is fetched.
 */
export async function runResultOf(
  session: Session,
  { artifacts, ...folded }: FoldedResult,
  { asked = {}, signal: stop, ...told }: CallOptions & EndFrame & { readonly asked?: LimitsInput | undefined },
): Promise<RunResult> {
  const { job_id } = folded;
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const artifact of artifacts) files.set(artifact.path, await contentOf(session, artifact));
  const receipt =
    told.receipt ?? (await read(accepted(session), 'GET /v1/jobs/{id}', { job_id, signal: stop })).receipt;
  if (!receipt?.receipt_sha256) throw new TransportFailure('undecodable', `${job_id} has no receipt`);
  const { receipt_sha256, terminal_reason, signal, isolation_class = null, effective_limits = null } = receipt;
  const clamped = clampedLimits(asked, effective_limits ?? {}).map(([name, , held]) => [name, held]);
  return {
    ...folded,
    files,
    terminal_reason,
    signal,
    isolation_class,
    effective_limits,
    clamped: Object.fromEntries(clamped) as RunResult['clamped'],
    lost: folded.violations.filter(({ type }) => type.startsWith('output_')),
    receipt_sha256,
    receipt,
    promise: null,
  };
}

async function contentOf(session: Session, { path, content_base64, size_bytes, sha256 }: Artifact) {
  const bytes = Uint8Array.from(textOfBase64(content_base64), (character) => character.charCodeAt(0));
  if (bytes.length === size_bytes && (await session.sha256(bytes)) === sha256) return bytes;
  throw new TransportFailure('digest', `${path} differs from its digest`);
}

/** Decodes base64. Text that is not base64 counts as empty, so that its digest will not be the stated one. */
function textOfBase64(text: string): string {
  try {
    return atob(text);
  } catch {
    return '';
  }
}
