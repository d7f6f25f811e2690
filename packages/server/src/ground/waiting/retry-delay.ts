/** How long to wait before something that failed is tried again: longer each time, and never all at once. */

const firstMilliseconds = 1000;
/** Failures that last are looked at again this often. */
const millisecondsMax = 300_000;

/** Milliseconds before the next attempt, after `failures` of them in a row, from 1. `random` is in [0, 1). */
export function retryDelay(failures: number, random: () => number = Math.random): number {
  const full = Math.min(millisecondsMax, firstMilliseconds * 2 ** (failures - 1));
  return Math.round(full / 2 + (full / 2) * random());
}
