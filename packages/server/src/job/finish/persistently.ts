/** Tries a write again until the store takes it: a store that is briefly unable must not cost a job its end. */

import { pause } from '../../ground/waiting/pause.ts';
import { StoreError } from '../../store/store-error.ts';

const firstPauseMilliseconds = 100;
const pauseMillisecondsMax = 5000;

export interface PersistOptions {
  /** Ends the trying: the last failure is then thrown. */
  readonly signal: AbortSignal;
  /** Attempts that may fail. One that fails because the disk is full does not count: room is waited for, however long. */
  readonly attemptsMax: number;
  /** Told of every attempt that failed. */
  readonly failed: (error: unknown) => void;
}

/** What `attempt` resolves to, once it does; its last rejection after `attemptsMax` attempts or an abort. */
export async function persistently<T>(attempt: () => Promise<T>, options: PersistOptions): Promise<T> {
  let milliseconds = firstPauseMilliseconds;
  for (let failures = 0; ; ) {
    try {
      return await attempt();
    } catch (error) {
      options.failed(error);
      if (!isWantOfSpace(error)) failures += 1;
      if (options.signal.aborted || failures >= options.attemptsMax) throw error;
      await pause(milliseconds, options.signal);
      milliseconds = Math.min(milliseconds * 2, pauseMillisecondsMax);
    }
  }
}

function isWantOfSpace(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'full';
}
