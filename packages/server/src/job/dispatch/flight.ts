/**
 * One job from its queued row to its terminal receipt: prepare a sandbox, check what it proved to be, hand the program
 * over, say `running`, execute, finish. Until the row says `running` nothing of the job has run, and leaving it queued
 * loses nothing.
 */
import { type RequestedSpec, satisfiesIsolation, type Violation } from '@svc/protocol';
import {
  BootstrapError,
  type HeldLimits,
  NO_LIMITS_HELD,
  type Posture,
  type Program,
  type Sandbox,
  type StopCause,
  unreadyPosture,
} from '../../sandbox/sandbox.ts';
import type { ExecutionRecord, JobKey, JobRow, QueuedJob } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { wholeSpec } from '../../store/whole-spec.ts';
import type { Log } from '../../telemetry/log.ts';
import { type JobClock, startClock } from '../execute/clock.ts';
import { type Execution, execute } from '../execute/execute.ts';
import { type Ended, finish } from '../finish/finish.ts';
import { errorOutcome, type Outcome, outcomeOf } from '../finish/outcome.ts';
import { persistently } from '../finish/persistently.ts';
import type { History } from '../history.ts';
import type { Cells } from './cells.ts';

export interface FlightDependencies {
  readonly store: Pick<Store, 'job'>;
  readonly history: History;
  readonly cells: Cells;
  readonly log: Log;
  /** MiB that the memory limits of all jobs together may add up to: a job with more gets no cell. */
  readonly concurrentMemMbMax: number;
  /** Aborts when the process gives up on what it could not store. */
  readonly giveUp: AbortSignal;
}

/** A job that holds a slot. */
export interface Flight {
  readonly job: QueuedJob;
  /** Whether the job's row says `running`, or is about to: then it can no longer be left queued. */
  hasStarted(): boolean;
  /** Ends the job at the next boundary: before it started by leaving its row alone, afterwards by force. Idempotent. */
  stop(cause: StopCause): void;
  /** Resolves once the slot is free: the end is stored and nothing of the sandbox is left. Never rejects. */
  readonly landed: Promise<void>;
}

/** What a flight shares with whoever may stop it. */
interface Control {
  cause: StopCause | null;
  started: boolean;
  running: Sandbox | null;
  readonly unwanted: AbortController;
}

/** Takes a queued job into a slot. */
export function launch(job: QueuedJob, dependencies: FlightDependencies): Flight {
  const control: Control = { cause: null, started: false, running: null, unwanted: new AbortController() };
  return {
    job,
    hasStarted: () => control.started,
    stop(cause) {
      control.cause ??= cause;
      control.unwanted.abort();
      control.running?.stop(control.cause);
    },
    landed: fly(job, control, dependencies).catch((error: unknown) => {
      dependencies.log.error({ err: error, job_id: job.job_id }, 'a job was left as its row stands');
    }),
  };
}

/** Everything one flight knows, handed from step to step. */
interface Context extends FlightDependencies {
  readonly key: JobKey;
  readonly row: JobRow;
  readonly mem_mb: number;
  readonly clock: JobClock;
  readonly control: Control;
}

async function fly(job: QueuedJob, control: Control, dependencies: FlightDependencies): Promise<void> {
  const { tenant, job_id, mem_mb } = job;
  const key = { tenant, job_id };
  const { store, log, giveUp } = dependencies;
  const row = await persistently(() => store.job(key), {
    signal: giveUp,
    attemptsMax: Number.POSITIVE_INFINITY,
    failed: (error) => log.error({ err: error, job_id }, 'a queued job could not be read'),
  });
  if (row === null || row.status !== 'queued') return;
  const context: Context = { ...dependencies, key, row, mem_mb, clock: startClock(row.created_at), control };
  try {
    await runInSandbox(context);
  } catch (error) {
    await endWithoutRun(context, error);
  }
}

async function runInSandbox(context: Context): Promise<void> {
  const { cells, row, control } = context;
  const spec = wholeSpec(row);
  const { language, runtime } = spec;
  await using sandbox = await cells.prepare({ language, runtime, signal: control.unwanted.signal });
  if (control.cause !== null) return;
  refuseUnfit(sandbox.posture, spec, context);
  const held = await sandbox.handOver(programOf(spec));
  const execution = executionRecord(sandbox.posture, held);
  if (control.cause !== null || !(await started(context, execution))) return;
  await runProgram(context, sandbox, execution);
}

/** How often a start is tried before the job ends as an error. With the pauses between: about 3 seconds. */
const startAttemptsMax = 6;

/** False where the job was cancelled meanwhile. From here on the row may say `running`, and only an end may follow. */
async function started({ history, key, clock, control, log, giveUp }: Context, execution: ExecutionRecord) {
  control.started = true;
  const input = { ...key, started_at: clock.timestamp(), execution };
  return await persistently(() => history.start(input), {
    signal: giveUp,
    attemptsMax: startAttemptsMax,
    failed: (error) => log.error({ err: error, job_id: key.job_id }, 'a start could not be stored'),
  });
}

async function runProgram(context: Context, sandbox: Sandbox, execution: ExecutionRecord): Promise<void> {
  const { control } = context;
  // Asked to stop between the start and here: it is over before it ran a single instruction.
  if (control.cause !== null) {
    const outcome = outcomeOf({ kind: 'stopped', cause: control.cause });
    return await end(context, { outcome, duration_ms: 0, execution, collection: null });
  }
  control.running = sandbox;
  const run = await execute({ ...context, sandbox });
  control.running = null;
  report(context, run);
  await end(context, {
    outcome: outcomeOfRun(run),
    duration_ms: run.duration_ms,
    execution,
    collection: run.collection,
    unstored: run.unstored,
  });
}

/** What a run counts as. A record with a gap is the service's failure, however the program ended. */
function outcomeOfRun({ collection, recording }: Execution): Outcome {
  if (recording.kind === 'failed') return errorOutcome('internal_error');
  return collection === null ? errorOutcome('runtime_failed') : outcomeOf(collection.ending);
}

function report({ log, key }: Context, { failure, recording, collection }: Execution): void {
  const { job_id } = key;
  if (recording.kind === 'failed') log.error({ err: recording.error, job_id }, 'output could not be recorded');
  if (collection === null) log.error({ err: failure, job_id }, 'a sandbox could not be collected');
  else if (collection.ending.kind === 'runtime_failed') {
    log.error({ job_id, reason: collection.ending.message }, 'the runtime failed');
  }
}

/** A cell was made, and the job may not have it. Nothing was set or handed over: the cell was never ready for this job. */
class Unfit extends Error {
  override readonly name = 'Unfit';
  readonly failure: FailureBeforeRun;
  constructor(message: string, failure: FailureBeforeRun) {
    super(message);
    this.failure = failure;
  }
}

/**
 * Holds a job against what its cell was observed to be and against the bounds of the service as it now is: it may have
 * been admitted by another. Spec § POST /v1/jobs 3.
 */
function refuseUnfit(observed: Posture, spec: RequestedSpec, { mem_mb, concurrentMemMbMax }: Context): void {
  const posture = unreadyPosture(observed.backend, observed.runtime_identity);
  const isolation = observed.isolation_class ?? 'none';
  if (!satisfiesIsolation(isolation, spec.requirements.minimum_isolation)) {
    const outcome = errorOutcome('isolation_unsatisfied');
    throw new Unfit(`observed isolation ${isolation} is less than the job demands`, {
      outcome,
      posture,
      violations: [],
    });
  }
  // Its limits stay what the client was told, so it can neither be clamped nor run.
  if (mem_mb > concurrentMemMbMax) {
    const message = `mem_mb ${mem_mb} is more than all jobs of this service may have together (${concurrentMemMbMax})`;
    const violation: Violation = { type: 'memory', message, limit: concurrentMemMbMax, observed: mem_mb };
    throw new Unfit(message, { outcome: errorOutcome('bootstrap_failed'), posture, violations: [violation] });
  }
}

/**
 * Ends a job whose program cannot be run. One that was asked to stop before it started stays as its row says: cancelled,
 * or queued for the next start of a service that is stopping. One that got no cell because none can be made stays queued
 * until they can; where another cell can be made, the failure is the job's own.
 */
async function endWithoutRun(context: Context, error: unknown): Promise<void> {
  const { log, key, control, cells, giveUp } = context;
  if (control.cause !== null && !control.started) return;
  if (giveUp.aborted) throw error;
  if (error instanceof BootstrapError && !(await cells.proven())) {
    log.warn({ err: error, job_id: key.job_id }, 'a job waits: no cell can be made');
    return;
  }
  const { outcome, posture, violations } = failureBeforeRun(error);
  const step = error instanceof BootstrapError ? error.step : null;
  log.error({ err: error, job_id: key.job_id, step }, 'a job could not be run');
  const execution = posture === null ? null : executionRecord(posture, NO_LIMITS_HELD);
  await end(context, { outcome, duration_ms: null, execution, collection: null, violations });
}

interface FailureBeforeRun {
  readonly outcome: Outcome;
  /** Null where no executor was asked. */
  readonly posture: Posture | null;
  readonly violations: readonly Violation[];
}

function failureBeforeRun(error: unknown): FailureBeforeRun {
  if (error instanceof Unfit) return error.failure;
  if (error instanceof BootstrapError) {
    return { outcome: errorOutcome('bootstrap_failed'), posture: error.posture, violations: [] };
  }
  return { outcome: errorOutcome('internal_error'), posture: null, violations: [] };
}

async function end(context: Context, ended: Omit<Ended, 'key' | 'finished_at'>): Promise<void> {
  const { history, log, key, clock, giveUp } = context;
  const isStored = await finish({ ...ended, key, finished_at: clock.timestamp() }, { history, log, signal: giveUp });
  const { status, terminal_reason } = ended.outcome;
  const { duration_ms } = ended;
  if (isStored) log.info({ ...key, status, terminal_reason, duration_ms }, 'a job ended');
}

function programOf(spec: RequestedSpec): Program {
  return {
    language: spec.language,
    code: spec.code,
    stdin: spec.stdin,
    args: spec.args,
    env: spec.env,
    files: spec.files.map(({ path, content_base64 }) => ({ path, content: Buffer.from(content_base64, 'base64') })),
    outputs: spec.outputs,
    limits: spec.limits,
  };
}

function executionRecord(posture: Posture, held: HeldLimits): ExecutionRecord {
  return { ...posture, ...held };
}
