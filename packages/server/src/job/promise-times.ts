/**
 * Two times of a promise: when the log must answer for a job, and when a statement is due that the job still waits. The
 * second time is so early that a head can contain the statement at the first time.
 */
import type { PromiseTimes } from '../store/records/inputs.ts';

/** The longest lead. To sign a statement and have it in a head takes about two seconds; a failover of the signer takes longer. */
const leadMillisecondsMax = 30_000;

export function promiseTimes(from: number, seconds: number): PromiseTimes {
  const answerBy = from + seconds * 1000;
  const lead = Math.min(leadMillisecondsMax, (seconds * 1000) / 2);
  return { answer_by: new Date(answerBy).toISOString(), due_at: new Date(answerBy - lead).toISOString() };
}
