/** How long to wait before a failed operation is tried again: longer each time, and partly random. */

const firstMilliseconds = 1000;
/** The longest delay: an operation that keeps failing is tried this often. */
const millisecondsMax = 300_000;

/** Milliseconds before the next try. `failures` is the number of failures in a row, at least 1. `random` is in [0, 1). */
export function retryDelay(failures: number, random: () => number = Math.random): number {
  const full = Math.min(millisecondsMax, firstMilliseconds * 2 ** (failures - 1));
  return Math.round(full / 2 + (full / 2) * random());
}
