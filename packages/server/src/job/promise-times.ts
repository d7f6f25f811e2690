/**
 * The time by which the log answers for a job, and the time to state that the job still waits: early enough for a head
 * to have the statement by then.
 */
import type { PromiseTimes } from '../store/records/inputs.ts';

/** The longest lead. To sign a statement and have it in a head takes about two seconds; a failover of the signer takes longer. */
const leadMillisecondsMax = 30_000;

export function promiseTimes(from: number, seconds: number): PromiseTimes {
  const answerBy = from + seconds * 1000;
  const lead = Math.min(leadMillisecondsMax, (seconds * 1000) / 2);
  return { answer_by: new Date(answerBy).toISOString(), due_at: new Date(answerBy - lead).toISOString() };
}
