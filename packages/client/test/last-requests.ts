/** Lets a test end the few seconds for which a client waits after a request that ends work. */
import { vi } from 'vitest';

/** Until the result is disposed, timeouts of at most 5 s end only when `end` is called. Longer ones are unchanged. */
export function lastRequests(): Disposable & { readonly end: () => void } {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const soon = new AbortController();
  const spy = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => (ms > 5000 ? timeout(ms) : soon.signal));
  return { end: () => soon.abort(), [Symbol.dispose]: () => spy.mockRestore() };
}
