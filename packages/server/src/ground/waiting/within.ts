/** Waiting for a promise, but only for a bounded time. */

/**
 * Settles as the promise does, or with `late` once the time is over. The promise continues, and its failure is then ignored.
 */
export async function within<Value, Late>(
  promise: Value | Promise<Value>,
  milliseconds: number,
  late: Late,
): Promise<Value | Late> {
  const { promise: timeIsOver, resolve } = Promise.withResolvers<Late>();
  const timer = setTimeout(() => resolve(late), milliseconds);
  try {
    return await Promise.race([promise, timeIsOver]);
  } finally {
    clearTimeout(timer);
  }
}
