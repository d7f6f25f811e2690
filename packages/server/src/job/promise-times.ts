/**
 * The two times in a promise: when the log must answer for a job, and the earlier time when a statement is due if the job
 * still waits. The time between them is long enough for a head to contain that statement.
 */
import type { PromiseTimes } from '../store/records/inputs.ts';

/** The longest time from `due_at` to `answer_by`. Signing a statement and its head takes about two seconds, a failover longer. */
const leadMillisecondsMax = 30_000;

export function promiseTimes(from: number, seconds: number): PromiseTimes {
  const answerBy = from + seconds * 1000;
  const lead = Math.min(leadMillisecondsMax, (seconds * 1000) / 2);
  return { answer_by: new Date(answerBy).toISOString(), due_at: new Date(answerBy - lead).toISOString() };
}
