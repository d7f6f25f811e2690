/** Retries a write until the store takes it, so that no job's end is lost because the store fails for a moment. */

import { pause } from '../../ground/waiting/pause.ts';
import { StoreError } from '../../store/store-error.ts';

const firstPauseMilliseconds = 100;
const pauseMillisecondsMax = 5000;

export interface PersistOptions {
  /** Ends the retries. The last failure is then thrown. */
  readonly signal: AbortSignal;
  /** The most attempts that may fail. Attempts that stored nothing for lack of space or of a connection do not count. */
  readonly attemptsMax: number;
  /** Whether a failure is an answer that another attempt cannot change. */
  readonly isFinal?: (error: unknown) => boolean;
  /** Called for every attempt that failed. */
  readonly failed: (error: unknown) => void;
}

/** Resolves to the result of the first success. After `attemptsMax` attempts or an abort, rejects with the last error. */
export async function persistently<T>(attempt: () => Promise<T>, options: PersistOptions): Promise<T> {
  let milliseconds = firstPauseMilliseconds;
  for (let failures = 0; ; ) {
    try {
      return await attempt();
    } catch (error) {
      if (options.isFinal?.(error)) throw error;
      options.failed(error);
      if (!passes(error)) failures += 1;
      if (options.signal.aborted || failures >= options.attemptsMax) throw error;
      await pause(milliseconds, options.signal);
      milliseconds = Math.min(milliseconds * 2, pauseMillisecondsMax);
    }
  }
}

/** Whether the failure is temporary: nothing of the write was stored, and the store will accept the same write later. */
function passes(error: unknown): boolean {
  return error instanceof StoreError && (error.code === 'full' || error.code === 'unreachable');
}
