/** Follows growing data of the service, such as events of a job, through lost connections and while the browser is offline. */
import { ServiceFailure } from '@vouchbox/client';

/** Milliseconds between two tries. When a try fails, the client's own retries are over. */
const tryAgainMilliseconds = 2000;

/**
 * Tries again until one try comes to the end, or until the signal aborts. An abort is not a failure. Each try continues
 * where the previous one ended.
 * @throws ServiceFailure if the service refuses a try, and a later try would not help
 */
export async function keepFollowing(
  tryOnce: (signal: AbortSignal) => Promise<void>,
  { signal, onState }: { readonly signal: AbortSignal; readonly onState?: (state: 'offline' | 'reconnecting') => void },
): Promise<void> {
  while (!signal.aborted) {
    const [back, stopped] = [new AbortController(), new AbortController()];
    window.addEventListener('offline', () => onState?.('offline'), { signal: stopped.signal });
    // A connection may stay open and receive nothing, so it is replaced when the browser is online again.
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
