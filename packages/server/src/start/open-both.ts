/** Opens two slow and independent parts of the service at the same time. */

/**
 * Waits for both parts. If one cannot be opened, the other is disposed as soon as it is open, so that nothing is left.
 *
 * @throws the first part's error, or else the second part's error
 */
export async function openBoth<One extends AsyncDisposable | null, Other extends AsyncDisposable | null>(
  one: Promise<One>,
  other: Promise<Other>,
): Promise<[One, Other]> {
  const [first, second] = await Promise.allSettled([one, other]);
  if (first.status === 'fulfilled' && second.status === 'fulfilled') return [first.value, second.value];
  for (const settled of [first, second]) {
    if (settled.status === 'fulfilled') await settled.value?.[Symbol.asyncDispose]();
  }
  throw first.status === 'rejected' ? first.reason : (second as PromiseRejectedResult).reason;
}
