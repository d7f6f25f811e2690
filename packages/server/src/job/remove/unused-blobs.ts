/**
 * Removes blobs that no job has named for a while, and unfinished uploads whose sender is gone: a service that dies leaves
 * its uploads half done.
 */
import { pause } from '../../ground/waiting/pause.ts';
import { StandingLoop } from '../../ground/waiting/standing-loop.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log/log.ts';

export interface UnusedBlobOptions {
  readonly store: Pick<Store, 'removeUnusedBlobs'>;
  readonly log: Log;
  /** How long a blob is kept after it was last uploaded or named. */
  readonly keepMilliseconds: number;
  /** Whether this process removes blobs. By default, it does. */
  readonly isOurTurn?: () => boolean;
}

/** How often the loop looks for unused blobs. */
const recheckMilliseconds = 600_000;
/** Longer than any upload takes, because a connection lasts at most ten minutes. */
const uploadMillisecondsMax = 900_000;
/** The most blobs in one transaction. A single blob may have so many pieces that other transactions have to wait. */
const stepBlobsMax = 1;

/** A loop that removes unused blobs until it is disposed. */
export function createBlobRemoval(options: UnusedBlobOptions): StandingLoop {
  return new StandingLoop(async (signal) => {
    try {
      const removed = options.isOurTurn?.() === false ? 0 : await removeUnused(options, signal);
      if (removed > 0) options.log.info({ removed }, 'unused blobs were removed');
    } catch (error) {
      options.log.error({ err: error }, 'unused blobs could not be removed');
    }
    await pause(recheckMilliseconds, signal);
  });
}

/** Removes all unused blobs and returns how many. Other work runs between two steps. */
export async function removeUnused(
  { store, keepMilliseconds }: UnusedBlobOptions,
  signal: AbortSignal,
): Promise<number> {
  const now = Date.now();
  const unusedSince = new Date(now - keepMilliseconds).toISOString();
  const begunBefore = new Date(now - uploadMillisecondsMax).toISOString();
  let removed = 0;
  while (!signal.aborted) {
    const startedAt = performance.now();
    const step = await store.removeUnusedBlobs({ unusedSince, begunBefore, limit: stepBlobsMax });
    removed += step;
    if (step === 0) break;
    await pause(performance.now() - startedAt, signal);
  }
  return removed;
}
