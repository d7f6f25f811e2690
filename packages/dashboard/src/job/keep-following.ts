/** Follows growing data from the service, such as a job's events, across lost connections and times without a network. */
import { ServiceFailure } from '@vouchbox/client';

/** Milliseconds between two tries. A try fails only after the client's own retries are used up. */
const tryAgainMilliseconds = 2000;

/**
 * Tries again until one try reaches the end or the signal aborts. An abort is not a failure. Each try continues where the
 * previous one ended.
 * @throws ServiceFailure if the service refuses a try and a later try would not help
 */
export async function keepFollowing(
  tryOnce: (signal: AbortSignal) => Promise<void>,
  { signal, onState }: { readonly signal: AbortSignal; readonly onState?: (state: 'offline' | 'reconnecting') => void },
): Promise<void> {
  while (!signal.aborted) {
    const [back, stopped] = [new AbortController(), new AbortController()];
    window.addEventListener('offline', () => onState?.('offline'), { signal: stopped.signal });
    // A connection may stay open but receive nothing, so it is replaced when the browser is online again.
    window.addEventListener('online', () => back.abort(), { signal: stopped.signal });
    const tried = AbortSignal.any([signal, back.signal]);
    try {
      await tryOnce(tried);
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ServiceFailure && !error.retryable) throw error;
      onState?.(navigator.onLine ? 'reconnecting' : 'offline');
      await pause(tried);
    } finally {
      stopped.abort();
    }
  }
}

/** Waits for a while, or until the signal aborts. */
function pause(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) return Promise.resolve();
  const timer = setTimeout(resolve, tryAgainMilliseconds);
  signal.addEventListener('abort', () => resolve());
  return promise.finally(() => clearTimeout(timer));
}
