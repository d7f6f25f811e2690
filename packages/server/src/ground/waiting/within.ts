/** Waiting for a promise, though not for ever. */

/**
 * Settles as the promise does, or after the time without it with `late`. The promise goes on, and its failure is then
 * nobody's.
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
