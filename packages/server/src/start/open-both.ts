/** Two parts of the service that need nothing of each other and each take their time are opened at the same time. */

/**
 * Waits for both. Where one cannot be opened, the other is disposed as soon as it is there, and nothing is left.
 *
 * @throws what the first of those that failed threw
 */
export async function openBoth<One extends AsyncDisposable, Other extends AsyncDisposable>(
  one: Promise<One>,
  other: Promise<Other>,
): Promise<[One, Other]> {
  const [first, second] = await Promise.allSettled([one, other]);
  if (first.status === 'fulfilled' && second.status === 'fulfilled') return [first.value, second.value];
  for (const settled of [first, second]) {
    if (settled.status === 'fulfilled') await settled.value[Symbol.asyncDispose]();
  }
  throw first.status === 'rejected' ? first.reason : (second as PromiseRejectedResult).reason;
}
