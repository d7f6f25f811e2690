/**
 * A job's own clock. Its wall-clock times never run backwards within the job, and its durations do not depend on
 * adjustments of the host's clock.
 */

export interface JobClock {
  /** RFC 3339 UTC with milliseconds. Never earlier than a previous answer or the clock's beginning. */
  timestamp(): string;
  /** Monotonic milliseconds since the clock began. */
  elapsedMilliseconds(): number;
}

/** A clock that begins now, or at `notBefore` (RFC 3339) if the host's clock was set back to an earlier time. */
export function startClock(notBefore: string): JobClock {
  const origin = Math.max(Date.now(), Date.parse(notBefore));
  const begun = performance.now();
  const elapsedMilliseconds = () => performance.now() - begun;
  return {
    elapsedMilliseconds,
    timestamp: () => new Date(origin + elapsedMilliseconds()).toISOString(),
  };
}
