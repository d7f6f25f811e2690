/** A launched job as the dispatcher sees it: what it holds, how to stop it, and when it is over. `launch.ts` runs it. */
import type { RunningCell, StopCause } from '../../sandbox/sandbox.ts';
import type { QueuedJob } from '../../store/records/rows.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { ToolSession } from './tool-session.ts';

export interface LaunchedJob {
  readonly job: QueuedJob;
  /** Whether the job's row says `running` or is about to say so. The job can then no longer be left queued. */
  hasStarted(): boolean;
  /** Whether any part of the job's cell may still exist. */
  holdsSlot(): boolean;
  /** Whether the program has ended and the cell is being taken down. This takes only a moment. */
  isLeaving(): boolean;
  /** Ends the job at the next boundary: a running job by force, an unstarted job by leaving its row as it is. Idempotent. */
  stop(cause: StopCause): void;
  /** Resolves once no part of the cell is left. Never rejects. */
  readonly freed: Promise<void>;
  /** Resolves once the cell is gone and the end is stored. Never rejects. */
  readonly over: Promise<void>;
}

/** The parts of a launched job that are needed to stop it. */
export interface Control {
  cause: StopCause | null;
  started: boolean;
  running: RunningCell | null;
  /** The tool session, from the hand-over on, if the program may call tools. */
  tools: ToolSession | null;
  readonly unwanted: AbortController;
  /** Whether the cell is being taken down. */
  isLeaving: boolean;
  /** Called once the program has ended, before its end is stored. Returns whether another job is being made. */
  makesNext: () => boolean;
  /** Frees the job's slot. Call it once the cell was taken down, or if there is no cell. Idempotent. */
  free(): void;
}

/** Starts `run` for a job. If `run` rejects, the job's row stays as it is. */
export function launchedJob(job: QueuedJob, log: Log, run: (control: Control) => Promise<void>): LaunchedJob {
  const freed = Promise.withResolvers<void>();
  let holdsSlot = true;
  const control: Control = {
    cause: null,
    started: false,
    running: null,
    tools: null,
    unwanted: new AbortController(),
    isLeaving: false,
    makesNext: () => false,
    free() {
      holdsSlot = false;
      freed.resolve();
    },
  };
  const failed = (error: unknown) =>
    log.error({ err: error, job_id: job.job_id }, 'a job was left unchanged in the store');
  return {
    job,
    hasStarted: () => control.started,
    holdsSlot: () => holdsSlot,
    isLeaving: () => holdsSlot && control.isLeaving,
    stop(cause) {
      control.cause ??= cause;
      control.unwanted.abort();
      control.running?.stop(control.cause);
    },
    freed: freed.promise,
    over: run(control)
      .catch(failed)
      .finally(() => control.free()),
  };
}
