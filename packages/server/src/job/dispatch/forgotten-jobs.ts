/**
 * Finds jobs that this node has taken from a shared store but knows nothing about. Such a job arises when the answer to
 * a change was lost and the node could not ask for the outcome: the job was taken, started or given back, and the node
 * believes that it was not. No other node touches such a job while this node lives.
 */

import type { Fleet } from '../../store/fleet.ts';
import type { TakenJob } from '../../store/records/rows.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { History } from '../history.ts';
import { endLeftRunning } from './recover.ts';

export interface ForgottenJobsOptions {
  readonly fleet: Pick<Fleet, 'takenJobs' | 'releaseJobs'>;
  readonly history: Pick<History, 'finish'>;
  readonly log: Log;
  /** Whether this node is preparing, running or ending the job. */
  readonly isKnown: (job_id: string) => boolean;
}

/** The store is asked at most this often. */
const pauseMilliseconds = 5000;

export class ForgottenJobs {
  readonly #options: ForgottenJobsOptions;
  /**
   * The jobs that were unknown at the last look. A job is forgotten if it is unknown at two looks. A job that ended meanwhile, or
   * is just being given back, is unknown at one look only. A job that starts is known before the store says so.
   */
  #unknown: ReadonlySet<string> = new Set();
  #lookedAt = performance.now();

  constructor(options: ForgottenJobsOptions) {
    this.#options = options;
  }

  /**
   * Gives forgotten jobs back to the queue. A forgotten job that may have begun is ended as `server_restarted`, because nobody
   * knows whether it began. Resolves to true if there were any. Rejects if the store does.
   */
  async resolve(): Promise<boolean> {
    if (performance.now() - this.#lookedAt < pauseMilliseconds) return false;
    this.#lookedAt = performance.now();
    const { fleet, isKnown } = this.#options;
    const unknown = (await fleet.takenJobs()).filter(({ job_id }) => !isKnown(job_id));
    const forgotten = unknown.filter(({ job_id }) => this.#unknown.has(job_id));
    this.#unknown = new Set(unknown.map(({ job_id }) => job_id));
    for (const job of forgotten) await this.#resolveOne(job);
    return forgotten.length > 0;
  }

  async #resolveOne(job: TakenJob): Promise<void> {
    const { fleet, log, history } = this.#options;
    log.warn({ job_id: job.job_id, status: job.status }, 'this node has a job in the store that it does not run');
    if (job.status === 'running') await endLeftRunning(job, { history, log });
    else await fleet.releaseJobs([job]);
  }
}
