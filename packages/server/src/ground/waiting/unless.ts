/** Waiting for a promise until a signal aborts. */

/** Settles as the promise does, or rejects with the reason of the signal as soon as it aborts. */
export async function unless<Value>(signal: AbortSignal | undefined, promise: Promise<Value>): Promise<Value> {
  if (signal === undefined) return await promise;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
