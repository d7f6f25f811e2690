/** Waits for the end of a job or a grading at the service. The service holds each request for a while. */
import { isTerminal, waitSecondsMax } from '@vouchbox/protocol/vocabulary';
import { delayMilliseconds } from './backoff.ts';
import type { FoldedResult, GradingDetail } from './contract-types.ts';
import { TransportFailure } from './failure.ts';
import type { WaitOptions } from './job-options.ts';
import { accepted } from './operation.ts';
import type { Session } from './session.ts';

/** How long one request waits at most: many proxies cut an exchange at 60 seconds. */
export const waitSecondsAtOnce = 50;

/**
 * Asks again and again, each time with a wait of `waitSeconds`, until the status is final.
 * @param id the id that the error names
 * @throws TransportFailure `timeout` once `timeoutSeconds` are over
 */
export async function askUntilEnded<Found extends Pick<FoldedResult | GradingDetail, 'status'>>(
  session: Session,
  id: string,
  ask: (session: Session, waiting: WaitOptions) => Promise<Found>,
  { signal, timeoutSeconds = Number.POSITIVE_INFINITY, waitSeconds = waitSecondsAtOnce }: WaitOptions,
): Promise<Found> {
  const { policy } = session;
  const end = performance.now() + timeoutSeconds * 1000;
  for (let expired = 1; ; expired++) {
    const left = Math.max(0, Math.ceil(end - performance.now()) / 1000);
    const patient = { ...policy, patienceSeconds: Math.min(policy.patienceSeconds, left) };
    const waiting = { waitSeconds: Math.min(waitSeconds, left, waitSecondsMax), signal };
    const found = await ask({ ...accepted(session), policy: patient }, waiting);
    if (isTerminal(found.status)) return found;
    if (performance.now() >= end) {
      throw new TransportFailure('timeout', `${id} is still ${found.status} after ${timeoutSeconds} s`);
    }
    // A random pause follows an expired wait, so that many clients do not ask in step.
    await session.sleep(delayMilliseconds(policy, expired, Math.random(), null), signal);
  }
}
