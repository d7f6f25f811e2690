/** Waiting for a nudge, though not for ever. */

/** Resolves with the promise, or after the time without it. */
export async function arrivedWithin(arrived: Promise<unknown>, milliseconds: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  await Promise.race([arrived, promise]);
  clearTimeout(timer);
}
