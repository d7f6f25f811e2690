/**
 * Takes a queued job to its end: prepare a cell, check what was observed of it, hand the program over, store `running`,
 * and run the program. Until the row says `running`, nothing of the job has run, and it can stay queued without loss.
 */
import type { RequestedSpec, StoredSpec, Violation } from '@vouchbox/protocol';
import {
  BootstrapError,
  NO_LIMITS_HELD,
  type Posture,
  type PreparedCell,
  unreadyPosture,
} from '../../sandbox/sandbox.ts';
import { wholeSpec } from '../../store/jobs/whole-spec.ts';
import type { ChosenJob } from '../../store/records/answers.ts';
import type { ExecutionRecord } from '../../store/records/rows.ts';
import { errorOutcome, type Outcome } from '../finish/outcome.ts';
import { persistently } from '../finish/persistently.ts';
import { startClock } from './clock.ts';
import { type Control, type LaunchedJob, launchedJob } from './launched-job.ts';
import {
  end,
  executionRecord,
  isIsolatedFor,
  type JobContext,
  type JobDependencies,
  programOf,
  runProgram,
  takeDown,
} from './run-program.ts';

/** Takes a queued job into a slot. */
export function launch(job: ChosenJob, dependencies: JobDependencies): LaunchedJob {
  return launchedJob(job, dependencies.log, (control) => runToEnd(job, control, dependencies));
}

async function runToEnd(job: ChosenJob, control: Control, dependencies: JobDependencies): Promise<void> {
  const { tenant, job_id, created_at } = job;
  const context = { ...dependencies, key: { tenant, job_id }, clock: startClock(created_at), control };
  try {
    const spec = await specOf(job, dependencies);
    if (spec !== null) await runInCell({ ...context, spec });
  } catch (error) {
    await endWithoutRun(context, error);
  }
}

/** Null if the job is no longer queued. */
async function specOf(job: ChosenJob, { store, log, giveUp }: JobDependencies): Promise<RequestedSpec | null> {
  const { tenant, job_id, language, runtime } = job;
  if (job.requested_spec !== null) {
    return wholeSpec({ language, runtime, requested_spec: JSON.parse(job.requested_spec) as StoredSpec });
  }
  const row = await persistently(() => store.job({ tenant, job_id }), {
    signal: giveUp,
    attemptsMax: Number.POSITIVE_INFINITY,
    failed: (error) => log.error({ err: error, job_id }, 'a queued job could not be read'),
  });
  return row?.status === 'queued' ? wholeSpec(row) : null;
}

async function runInCell(context: JobContext): Promise<void> {
  const { cells, spec, control, key } = context;
  const { language, runtime } = spec;
  const cell = await cells.prepare({ language, runtime, owner: key.tenant, signal: control.unwanted.signal });
  try {
    await runIn(cell, context);
  } finally {
    await takeDown(cell, context);
  }
}

async function runIn(cell: PreparedCell, context: JobContext): Promise<void> {
  const { control } = context;
  if (control.cause !== null) return;
  refuseUnfit(cell.posture, context);
  const loaded = await cell.handOver(programOf(context));
  refuseUnfit(loaded.posture, context);
  const execution = executionRecord(loaded);
  if (control.cause !== null || !(await started(context, execution))) return;
  await runProgram(context, { cell, loaded, execution });
}

/** How often a start is tried before the job ends as an error: about 3 seconds with the pauses between. */
const startAttemptsMax = 6;

/** False if the job was cancelled meanwhile. From here on the row may say `running`, and only an end may follow. */
async function started({ history, key, clock, control, log, giveUp }: JobContext, execution: ExecutionRecord) {
  control.started = true;
  const input = { ...key, started_at: clock.timestamp(), execution };
  return await persistently(() => history.start(input), {
    signal: giveUp,
    attemptsMax: startAttemptsMax,
    failed: (error) => log.error({ err: error, job_id: key.job_id }, 'a start could not be stored'),
  });
}

/** The job may not have the cell that was made for it. No limit was set and nothing was handed over. */
class Unfit extends Error {
  override readonly name = 'Unfit';
  readonly failure: FailureBeforeRun;
  constructor(message: string, failure: FailureBeforeRun) {
    super(message);
    this.failure = failure;
  }
}

/**
 * Checks a job against the observed posture of its cell and against the present bounds of the service. A service with
 * other settings may have admitted it. Spec § POST /v1/jobs 3.
 */
function refuseUnfit(observed: Posture, { spec, concurrentMemMbMax }: JobContext): void {
  const { mem_mb } = spec.limits;
  const posture = unreadyPosture(observed.backend, observed.runtime_identity);
  if (!isIsolatedFor(observed, spec)) {
    const outcome = errorOutcome('isolation_unsatisfied');
    throw new Unfit(`observed isolation ${observed.isolation_class ?? 'none'} is less than the job demands`, {
      outcome,
      posture,
      violations: [],
    });
  }
  // The client was told the job's limits, so they cannot be lowered now, and the job cannot run.
  if (mem_mb > concurrentMemMbMax) {
    const message = `mem_mb ${mem_mb} is more than all jobs of this service may have together (${concurrentMemMbMax})`;
    const violation: Violation = { type: 'memory', message, limit: concurrentMemMbMax, observed: mem_mb };
    throw new Unfit(message, { outcome: errorOutcome('bootstrap_failed'), posture, violations: [violation] });
  }
}

/**
 * Ends a job whose program cannot be run. A job that was stopped before it started keeps its row: cancelled, or queued
 * for the next start of the service. If no cell can be made at all, the job stays queued until one can. If another cell
 * can be made, the job caused the failure.
 */
export async function endWithoutRun(context: Omit<JobContext, 'spec'>, error: unknown): Promise<void> {
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
  const execution = posture === null ? null : executionRecord({ posture, held: NO_LIMITS_HELD });
  await end(context, { outcome, duration_ms: null, execution, collection: null, violations });
}

interface FailureBeforeRun {
  readonly outcome: Outcome;
  /** Null if no executor was asked. */
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
