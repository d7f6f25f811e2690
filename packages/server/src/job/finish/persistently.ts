/** Tries a write again until the store takes it: a store that is briefly unable must not cost a job its end. */

import { pause } from '../pause.ts';

const firstPauseMilliseconds = 100;
const pauseMillisecondsMax = 5000;

export interface PersistOptions {
  /** Ends the trying: the last failure is then thrown. */
  readonly signal: AbortSignal;
  readonly attemptsMax: number;
  /** Told of every attempt that failed. */
  readonly failed: (error: unknown) => void;
}

/** What `attempt` resolves to, once it does; its last rejection after `attemptsMax` attempts or an abort. */
export async function persistently<T>(attempt: () => Promise<T>, options: PersistOptions): Promise<T> {
  for (
    let attempts = 1, milliseconds = firstPauseMilliseconds;
    ;
    attempts++, milliseconds = Math.min(milliseconds * 2, pauseMillisecondsMax)
  ) {
    try {
      return await attempt();
    } catch (error) {
      options.failed(error);
      if (options.signal.aborted || attempts >= options.attemptsMax) throw error;
      await pause(milliseconds, options.signal);
    }
  }
}
