/** The few seconds that a client waits for the answer to a request that ends work. */
import { vi } from 'vitest';

/** Until it is disposed, those seconds are over when `end` is called, and not by a clock. Longer times stay as they are. */
export function lastRequests(): Disposable & { readonly end: () => void } {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const soon = new AbortController();
  const spy = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => (ms > 5000 ? timeout(ms) : soon.signal));
  return { end: () => soon.abort(), [Symbol.dispose]: () => spy.mockRestore() };
}
