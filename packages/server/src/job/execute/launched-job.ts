/** A launched job as the dispatcher sees it: its resources, how to stop it, and when it is over. `launch.ts` runs it. */
import type { RunningCell, StopCause } from '../../sandbox/sandbox.ts';
import type { QueuedJob } from '../../store/records/rows.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { ToolSession } from './tool-session.ts';

export interface LaunchedJob {
  readonly job: QueuedJob;
  /** Whether the job's row says `running`, or is about to: then it can no longer be left queued. */
  hasStarted(): boolean;
  /** Whether any part of its cell may still exist. */
  holdsSlot(): boolean;
  /** Whether its program is over and its cell is being taken down, which takes a moment. */
  isLeaving(): boolean;
  /** Ends the job at the next boundary: an unstarted job by leaving its row alone, a running one by force. Idempotent. */
  stop(cause: StopCause): void;
  /** Resolves once nothing of its cell is left. Never rejects. */
  readonly freed: Promise<void>;
  /** Resolves once the cell is gone and the end is stored. Never rejects. */
  readonly over: Promise<void>;
}

/** The parts of a launched job that the code for stopping it uses. */
export interface Control {
  cause: StopCause | null;
  started: boolean;
  running: RunningCell | null;
  /** The session of a program that may call tools, from the hand-over on. */
  tools: ToolSession | null;
  readonly unwanted: AbortController;
  /** Whether the cell is being taken down. */
  isLeaving: boolean;
  /** Frees the job's slot, once its cell was taken down or if it has none. Idempotent. */
  free(): void;
}

/** Starts `run` for a job. If `run` rejects, the row of the job stays as it is. */
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
