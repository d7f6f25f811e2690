/**
 * Starts a job for which a slot and a parked cell are free. The cell gets the job's limits, files and program. Then one
 * transaction accepts the job as running, and when that is on disk the program is released. If the process dies before
 * the commit, there is no job; if it dies after it, the next start finds the row running.
 */
import { within } from '../../ground/waiting/within.ts';
import type { Posture, PreparedCell } from '../../sandbox/sandbox.ts';
import type { AdmitResult } from '../../store/records/answers.ts';
import type { AdmitInput } from '../../store/records/inputs.ts';
import { startClock } from './clock.ts';
import { endWithoutRun } from './launch.ts';
import { type LaunchedJob, launchedJob } from './launched-job.ts';
import {
  executionRecord,
  isIsolatedFor,
  type JobContext,
  type JobDependencies,
  programOf,
  runProgram,
  type Startable,
  takeDown,
} from './run-program.ts';

/** How long a submission waits for its parked cell to take it. It is then queued, and gets another cell. */
const takeMillisecondsMax = 2000;

export interface LaunchAtOnce {
  readonly launched: LaunchedJob;
  /**
   * The store's answer to the submission, once it is on disk; rejects as the store does. Null if nothing was stored,
   * because the cell could not take the job or the service stops.
   */
  readonly admitted: Promise<AdmitResult | null>;
}

type Answer = PromiseWithResolvers<AdmitResult | null>;

/** Takes a submission into a slot, with a parked cell that serves this job or none. */
export function launchAtOnce(input: AdmitInput, cell: PreparedCell, dependencies: JobDependencies): LaunchAtOnce {
  const { tenant, job_id, created_at, requested_spec: spec } = input;
  const { language, runtime, limits } = spec;
  const answer: Answer = Promise.withResolvers();
  const job = { tenant, job_id, language, runtime, mem_mb: limits.mem_mb, created_at };
  const launched = launchedJob(job, dependencies.log, async (control) => {
    const context = { ...dependencies, key: { tenant, job_id }, spec, clock: startClock(created_at), control };
    try {
      await runToEnd(input, { context, cell, answer });
    } finally {
      await takeDown(cell, context);
    }
  });
  return { launched, admitted: answer.promise };
}

interface Parts {
  readonly context: JobContext;
  readonly cell: PreparedCell;
  readonly answer: Answer;
}

async function runToEnd(input: AdmitInput, { context, cell, answer }: Parts): Promise<void> {
  const startable = await loadedFor(cell, context);
  if (startable === null) {
    answer.resolve(null);
    return;
  }
  context.control.started = true;
  const start = { started_at: context.clock.timestamp(), execution: startable.execution };
  const result = await context.history.admit({ ...input, start }).catch((error: unknown) => {
    answer.reject(error);
    return null;
  });
  if (result === null) return;
  if (result.kind !== 'created') {
    answer.resolve(result);
    return;
  }
  try {
    // The program is released before anything else is done, and the answer goes out while it runs.
    const run = runProgram(context, startable);
    answer.resolve(result);
    await run;
  } catch (error) {
    await endWithoutRun(context, error);
  }
}

/** Hands the program over. Returns the start with what was then observed; null if the job cannot start in this cell. */
async function loadedFor(cell: PreparedCell, context: JobContext): Promise<Startable | null> {
  const { spec, control, log, key } = context;
  const isFit = ({ posture }: { posture: Posture }) => control.cause === null && isIsolatedFor(posture, spec);
  try {
    if (!isFit(cell)) return null;
    const loaded = await within(cell.handOver(programOf(context)), takeMillisecondsMax, null);
    if (loaded === null) throw new Error(`it had not taken it within ${takeMillisecondsMax / 1000} s`);
    return isFit(loaded) ? { cell, loaded, execution: executionRecord(loaded) } : null;
  } catch (error) {
    log.warn({ err: error, job_id: key.job_id }, 'a parked cell could not take a job, which is queued');
    return null;
  }
}
