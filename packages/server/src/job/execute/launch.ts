/**
 * Takes a job to its end: prepares a cell, checks its observations, hands over the program, stores `running`, runs the program.
 * Until the row says `running`, no part of the job has run, so the job can stay queued without loss.
 *
 * If a slot and a parked cell are free, a submission starts at once: one transaction accepts the job as running, and the
 * program is released when that transaction is on disk. If the process dies before the commit, there is no job. If the process
 * dies after the commit, the next start finds the row running.
 */
import type { RequestedSpec, StoredSpec } from '@vouchbox/protocol';
import { within } from '../../ground/waiting/within.ts';
import type { LoadedCell, PreparedCell } from '../../sandbox/sandbox.ts';
import { wholeSpec } from '../../store/jobs/whole-spec.ts';
import type { AdmitResult, ChosenJob } from '../../store/records/answers.ts';
import type { AdmitInput, StartInput } from '../../store/records/inputs.ts';
import type { QueuedJob } from '../../store/records/rows.ts';
import { persistently } from '../finish/persistently.ts';
import { kindFor } from './cells.ts';
import { startClock } from './clock.ts';
import { type Control, type LaunchedJob, launchedJob } from './launched-job.ts';
import {
  executionRecord,
  type JobContext,
  type JobDependencies,
  programOf,
  runProgram,
  takeDown,
} from './run-program.ts';
import { ToolSession } from './tool-session.ts';
import { endWithoutRun, type FailureBeforeRun, failureOf, unfitFor, unheldFor } from './without-run.ts';

/** Takes a queued job into a slot. */
export function launch(job: ChosenJob, dependencies: JobDependencies): LaunchedJob {
  return launchedJob(job, dependencies.log, async (control) => {
    const context = contextOf(job, control, dependencies);
    try {
      const spec = await specOf(job, dependencies);
      if (spec?.interaction !== undefined) throw new Error('the job that its program talks to has ended');
      const unfit = spec === null ? null : await runInNewCell({ ...context, spec });
      if (unfit !== null) await endWithoutRun(context, unfit);
    } catch (error) {
      await endWithoutRun(context, failureOf(error));
    }
  });
}

/** The data that a job's steps share, without the specification, which is read later. */
export function contextOf({ tenant, job_id, created_at }: QueuedJob, control: Control, dependencies: JobDependencies) {
  return { ...dependencies, key: { tenant, job_id }, created_at, clock: startClock(created_at), control };
}

/** A queued job's specification; null if the job is no longer queued. */
export async function specOf(
  job: ChosenJob,
  { store, log, giveUp }: Pick<JobDependencies, 'store' | 'log' | 'giveUp'>,
): Promise<RequestedSpec | null> {
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

async function runInNewCell(context: JobContext): Promise<FailureBeforeRun | null> {
  const { cells, spec, control, key } = context;
  const cell = await cells.prepare({ ...kindFor(spec, key.tenant), signal: control.unwanted.signal });
  try {
    return await runIn(cell, context, { taken: (loading) => loading, store: (start) => startStored(context, start) });
  } finally {
    await takeDown(cell, context);
  }
}

type Start = Pick<StartInput, 'started_at' | 'execution'>;

/** The steps in which a queued job and a submission that starts at once differ. */
interface Way {
  /** Waits for the cell to take the program. */
  taken(loading: Promise<LoadedCell>): Promise<LoadedCell>;
  /** Stores the start. Returns what to do once the program is released; null if the job must not run. */
  store(start: Start): Promise<(() => void) | null>;
}

/** Runs a job in a cell. Returns why the job may not have the cell; null if the job ran or must not run. */
async function runIn(cell: PreparedCell, context: JobContext, way: Way): Promise<FailureBeforeRun | null> {
  const { control, clock } = context;
  const found = await loadedIn(cell, context, (loading) => way.taken(loading));
  if (!('loaded' in found)) return found.unfit;
  const { loaded } = found;
  // From here on, the row may say `running`, so the job can only end: it cannot go back to the queue.
  control.started = true;
  const execution = executionRecord(loaded);
  const released = await way.store({ started_at: clock.timestamp(), execution });
  if (released === null) return null;
  const run = runProgram(context, { cell, loaded, execution });
  released();
  await run;
  return null;
}

/** A cell that holds the program of a job. */
export interface LoadedJob {
  readonly cell: PreparedCell;
  readonly loaded: LoadedCell;
}

/** Hands over a job to a cell. `unfit` says why the job may not have the cell; null if the job must no longer run. */
export async function loadedIn(
  cell: PreparedCell,
  context: JobContext,
  taken = (loading: Promise<LoadedCell>) => loading,
): Promise<LoadedJob | { readonly unfit: FailureBeforeRun | null }> {
  const { control } = context;
  if (control.cause !== null) return { unfit: null };
  const unfit = unfitFor(cell.posture, context);
  if (unfit !== null) return { unfit };
  const { tools } = context.spec;
  control.tools = tools === undefined ? null : new ToolSession(tools, context);
  const loaded = await taken(cell.handOver(programOf(context)));
  const unfitNow = unfitFor(loaded.posture, context) ?? unheldFor(loaded, context);
  return unfitNow !== null || control.cause !== null ? { unfit: unfitNow } : { cell, loaded };
}

/** How often a start is tried before the job ends as an error. With the pauses, this takes about 3 seconds. */
export const startAttemptsMax = 6;

/** Stores a job's start; null if the job was cancelled meanwhile. */
async function startStored(
  { history, key, created_at, log, giveUp }: JobContext,
  start: Start,
): Promise<(() => void) | null> {
  const isStored = await persistently(() => history.start({ ...key, created_at, ...start }), {
    signal: giveUp,
    attemptsMax: startAttemptsMax,
    failed: (error) => log.error({ err: error, job_id: key.job_id }, 'a start could not be stored'),
  });
  return isStored ? () => {} : null;
}

/** How long a submission waits for its parked cell to take the program. After that, it is queued and gets another cell. */
const takeMillisecondsMax = 2000;

export interface LaunchAtOnce {
  readonly launched: LaunchedJob;
  /**
   * The store's answer to the submission, once the job is on disk. Null if nothing was stored because the cell could not
   * take the job or the service stops. Rejects if the store does.
   */
  readonly admitted: Promise<AdmitResult | null>;
}

/** Takes a submission into a slot. The parked cell then serves this job, or no job at all. */
export function launchAtOnce(
  input: AdmitInput,
  cell: PreparedCell,
  { makesNext, ...dependencies }: JobDependencies & Pick<Control, 'makesNext'>,
): LaunchAtOnce {
  const { tenant, job_id, created_at, requested_spec: spec } = input;
  const { language, runtime, limits } = spec;
  const answer = Promise.withResolvers<AdmitResult | null>();
  const job = {
    tenant,
    job_id,
    language,
    runtime,
    mem_mb: limits.mem_mb,
    created_at,
    is_test: input.graded === undefined ? 0 : 1,
  };
  const launched = launchedJob(job, dependencies.log, async (control) => {
    const context = { ...contextOf(job, control, dependencies), spec };
    control.makesNext = makesNext;
    try {
      await runIn(cell, context, wayAtOnce(input, context, answer));
    } catch (error) {
      if (control.started) await endWithoutRun(context, failureOf(error));
      else context.log.warn({ err: error, job_id }, 'a parked cell could not take a job, which is queued');
    } finally {
      answer.resolve(null);
      await takeDown(cell, context);
    }
  });
  return { launched, admitted: answer.promise };
}

function wayAtOnce(input: AdmitInput, { history }: JobContext, answer: PromiseWithResolvers<AdmitResult | null>): Way {
  return {
    async taken(loading) {
      const loaded = await within(loading, takeMillisecondsMax, null);
      if (loaded === null) throw new Error(`the cell did not take the program within ${takeMillisecondsMax / 1000} s`);
      return loaded;
    },
    async store(start) {
      try {
        const result = await history.admit({ ...input, start });
        // The answer is sent while the program already runs.
        if (result.kind === 'created') return () => answer.resolve(result);
        answer.resolve(result);
      } catch (error) {
        answer.reject(error);
      }
      return null;
    },
  };
}
