/**
 * The time of one job: wall-clock times that never run backwards within it, and durations that no adjustment of the host's
 * clock can touch.
 */

export interface JobClock {
  /** RFC 3339 UTC with milliseconds; never before an earlier answer nor before the clock's beginning. */
  timestamp(): string;
  /** Monotonic milliseconds since the clock began. */
  elapsedMilliseconds(): number;
}

/** A clock that begins now, or at `notBefore` (RFC 3339) where the host's clock was set back behind it. */
export function startClock(notBefore: string): JobClock {
  const origin = Math.max(Date.now(), Date.parse(notBefore));
  const begun = performance.now();
  const elapsedMilliseconds = () => performance.now() - begun;
  return {
    elapsedMilliseconds,
    timestamp: () => new Date(origin + elapsedMilliseconds()).toISOString(),
  };
}
