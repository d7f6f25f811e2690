/** Waiting for a nudge, though not for ever. */

/** Resolves with the promise to true, or after the time without it to false. */
export async function arrivedWithin(arrived: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), milliseconds);
  const hasArrived = await Promise.race([arrived.then(() => true), promise]);
  clearTimeout(timer);
  return hasArrived;
}
