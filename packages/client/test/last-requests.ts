/** Lets a test cut short the few seconds that a client waits for the answer to a request that ends work. */
import { vi } from 'vitest';

/** Until the result is disposed of, timeouts of at most 5 s end only when `end` is called. Longer timeouts are unchanged. */
export function lastRequests(): Disposable & { readonly end: () => void } {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const soon = new AbortController();
  const spy = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => (ms > 5000 ? timeout(ms) : soon.signal));
  return { end: () => soon.abort(), [Symbol.dispose]: () => spy.mockRestore() };
}
