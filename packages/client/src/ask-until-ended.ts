/** Waits until a job or a grading has ended. The service holds each request for a while. */
import { isTerminal, waitSecondsMax } from '@vouchbox/protocol/vocabulary';
import { delayMilliseconds } from './backoff.ts';
import type { FoldedResult, GradingDetail } from './contract-types.ts';
import { TransportFailure } from './failure.ts';
import type { WaitOptions } from './job-options.ts';
import { accepted, withPolicy } from './operation.ts';
import type { Session } from './session.ts';

/** How long one request waits at most, because many proxies cut an exchange at 60 seconds. */
export const waitSecondsAtOnce = 50;

/** The longest delay of a timer. */
const timerMillisecondsMax = 2 ** 31 - 1;

/**
 * Asks again and again, each time with a wait of `waitSeconds`, until the status is final. With no time to wait, asks once.
 * @param id the id that the error names
 * @throws TransportFailure `timeout` once `timeoutSeconds` are over, also during a request or a pause
 */
export async function askUntilEnded<Found extends Pick<FoldedResult | GradingDetail, 'status'>>(
  session: Session,
  id: string,
  ask: (session: Session, waiting: WaitOptions) => Promise<Found>,
  { signal: stop, timeoutSeconds = Number.POSITIVE_INFINITY, waitSeconds = waitSecondsAtOnce }: WaitOptions,
): Promise<Found> {
  const milliseconds = Math.ceil(timeoutSeconds * 1000);
  const end = performance.now() + milliseconds;
  const hasTime = milliseconds > 0;
  const asking = hasTime ? accepted(session) : withPolicy(session, { attemptsMax: 1 });
  const deadline = hasTime && milliseconds <= timerMillisecondsMax ? AbortSignal.timeout(milliseconds) : undefined;
  const signal = AbortSignal.any([stop, deadline].filter((given) => given !== undefined));
  const late = (cause?: unknown) =>
    new TransportFailure('timeout', `${id} has not ended after ${timeoutSeconds} s`, { cause });
  try {
    for (let expired = 1; ; expired++) {
      const left = hasTime ? Math.max(0, Math.ceil(end - performance.now()) / 1000) : 0;
      const found = await ask(asking, { waitSeconds: Math.min(waitSeconds, left, waitSecondsMax), signal });
      if (isTerminal(found.status)) return found;
      if (left === 0) throw late();
      // After a wait expired, a random pause keeps many clients from asking in step.
      await session.sleep(delayMilliseconds(session.policy, expired, Math.random(), null), signal);
    }
  } catch (error) {
    stop?.throwIfAborted();
    throw deadline?.aborted ? late(error) : error;
  }
}
