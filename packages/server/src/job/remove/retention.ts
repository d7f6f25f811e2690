/**
 * Removes jobs and gradings whose retention is over, together with their data and their idempotency keys, a few at a time. A job
 * that still waits for its attestation is kept, unless signing is off.
 */

import { pause } from '../../ground/waiting/pause.ts';
import { StandingLoop } from '../../ground/waiting/standing-loop.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log/log.ts';

export interface RetentionOptions {
  readonly store: Pick<Store, 'deleteEnded' | 'deleteEndedGradings'>;
  readonly log: Log;
  /** For how many days a job is kept after its end. */
  readonly days: number;
  /** Whether jobs are kept until they are attested, or even until the log has them. */
  readonly unattested: 'kept' | 'removed' | 'logged';
  /** Whether it is this node that removes old jobs. Absent if there are no other nodes. */
  readonly isOurTurn?: () => boolean;
}

/** How often the loop looks for old jobs. */
const recheckMilliseconds = 600_000;
/** The most jobs in one transaction. It is small because all other writes wait meanwhile. A large job counts as several. */
const stepJobsMax = 16;
/** The most gradings in one transaction. A single grading may have thousands of rows. */
const stepGradingsMax = 1;
const millisecondsOfDay = 86_400_000;

/** A loop that removes old jobs until it is disposed. */
export function createRetention(options: RetentionOptions): StandingLoop {
  return new StandingLoop(async (signal) => {
    try {
      const removed = options.isOurTurn?.() === false ? 0 : await removeOld(options, signal);
      if (removed > 0) options.log.info({ removed }, 'old jobs were removed');
    } catch (error) {
      options.log.error({ err: error }, 'old jobs could not be removed');
    }
    await pause(recheckMilliseconds, signal);
  });
}

/** Removes all old jobs, then all old gradings, and returns how many. Other work runs between two steps. */
export async function removeOld({ store, days, unattested }: RetentionOptions, signal: AbortSignal): Promise<number> {
  const before = new Date(Date.now() - days * millisecondsOfDay).toISOString();
  let removed = 0;
  while (!signal.aborted) {
    const startedAt = performance.now();
    const step =
      (await store.deleteEnded({ before, limit: stepJobsMax, unattested })) ||
      (await store.deleteEndedGradings({ before, limit: stepGradingsMax }));
    removed += step;
    if (step === 0) break;
    await pause(performance.now() - startedAt, signal);
  }
  return removed;
}
