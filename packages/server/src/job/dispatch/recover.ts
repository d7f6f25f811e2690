/**
 * Ends the jobs that a lost process (an earlier one, or another node) left `running`. Nobody knows how their programs ended, so
 * their receipts claim nothing about that. Spec § States and transitions 2; § Receipt, recovery receipt.
 */
import type { RunningJob } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log/log.ts';
import { startClock } from '../execute/clock.ts';
import { errorOutcome } from '../finish/outcome.ts';
import type { History } from '../history.ts';

export interface RecoverOptions {
  readonly store: Pick<Store, 'runningJobs'>;
  readonly history: Pick<History, 'finish'>;
  readonly log: Log;
}

/**
 * Gives every job that was left `running` its recovery receipt. Runs before any job is dispatched, and when a node is
 * gone. After a crash, running it again completes the work. Rejects if the store does.
 * Resolves to the number of jobs that it ended.
 */
export async function recover({ store, ...options }: RecoverOptions): Promise<number> {
  let ended = 0;
  for (const job of await store.runningJobs()) if (await endLeftRunning(job, options)) ended++;
  return ended;
}

/** Ends one job that nobody runs. False if the job had already ended. */
export async function endLeftRunning(
  { tenant, job_id, started_at }: Omit<RunningJob, 'cancellation_requested'>,
  { history, log }: Omit<RecoverOptions, 'store'>,
): Promise<boolean> {
  const isEnded = await history.finish({
    tenant,
    job_id,
    ...errorOutcome('server_restarted'),
    finished_at: startClock(started_at).timestamp(),
    duration_ms: null,
    events: [],
    artifacts: [],
    execution: null,
    usage: null,
    output: null,
    recovery: true,
  });
  if (isEnded) log.warn({ job_id }, 'a job was running when its service stopped; it ended as an error');
  return isEnded;
}
