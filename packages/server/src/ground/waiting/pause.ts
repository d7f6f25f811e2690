/** A wait that a signal can end early. */

/** Resolves after the time, or when the signal aborts; never rejects. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', done);
    resolve();
  };
  const timer = setTimeout(done, milliseconds);
  if (signal.aborted) done();
  signal.addEventListener('abort', done, { once: true });
  return promise;
}
