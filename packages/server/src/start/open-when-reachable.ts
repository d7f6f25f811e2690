/** Opens a store whose server may still be starting, for example because the whole machine or cluster was just started. */
import { StartError } from '../ground/start-error.ts';
import { pause } from '../ground/waiting/pause.ts';
import { StoreError } from '../store/store-error.ts';
import type { Log } from '../telemetry/log/log.ts';

export interface WaitOptions {
  readonly log: Log;
  /** Ends the wait when the service is asked to stop. */
  readonly signal: AbortSignal;
  /** How long to try. By default, for a minute. */
  readonly waitMilliseconds?: number;
}

const waitMillisecondsDefault = 60_000;
const pauseMilliseconds = { first: 500, longest: 5000 };

/**
 * Opens the store as soon as its server can be reached. Each failure to reach it is logged, and the pauses between attempts grow.
 * Any other error, such as a wrong password or a missing database, is thrown at once.
 *
 * @throws StartError if the server could not be reached in time; or the reason of `signal` once the signal aborts
 */
export async function openWhenReachable<Opened>(open: () => Promise<Opened>, options: WaitOptions): Promise<Opened> {
  const { log, signal, waitMilliseconds = waitMillisecondsDefault } = options;
  const startedAt = performance.now();
  for (let pauseNow = pauseMilliseconds.first; ; pauseNow = Math.min(2 * pauseNow, pauseMilliseconds.longest)) {
    try {
      return await open();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof StoreError) || error.code !== 'unreachable') throw error;
      const left = waitMilliseconds - (performance.now() - startedAt);
      if (left <= 0) throw tooLate(error, waitMilliseconds);
      log.warn({ err: error }, 'the start waits for the database');
      await pause(Math.min(pauseNow, left), signal);
      signal.throwIfAborted();
    }
  }
}

function tooLate(cause: StoreError, waitMilliseconds: number): StartError {
  return new StartError(`${cause.message}, tried for ${waitMilliseconds / 1000} s`, {
    hint: 'start the database, or correct SERVICE_DATABASE_URL',
    cause,
  });
}
