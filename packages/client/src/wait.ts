/** Waits for a job's end through the result route, whose wait the service holds. Spec § GET /v1/jobs/{id}/result. */
import type { FoldedResult } from '@vouchbox/protocol';
import { isTerminal, waitSecondsMax } from '@vouchbox/protocol/vocabulary';
import { delayMilliseconds, type RetryPolicy, type Sleep } from './backoff.ts';
import { TransportFailure } from './failure.ts';

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  /** Seconds to wait in all; endless without it. */
  readonly timeoutSeconds?: number;
  /** Seconds to request of the service at a time, at most 300. Default 50: many proxies cut an exchange at 60. */
  readonly waitSeconds?: number;
}

interface Waiting extends WaitOptions {
  readonly policy: RetryPolicy;
  readonly sleep: Sleep;
}

/**
 * Requests the result, each time with a wait, until it is terminal.
 * @throws TransportFailure `timeout` once `timeoutSeconds` are over
 */
export async function waitForTerminal(
  ask: (waitSeconds: number) => Promise<FoldedResult>,
  { signal, timeoutSeconds, waitSeconds = 50, policy, sleep }: Waiting,
): Promise<FoldedResult> {
  const end = timeoutSeconds === undefined ? Number.POSITIVE_INFINITY : performance.now() + timeoutSeconds * 1000;
  for (let expired = 1; ; expired++) {
    const left = Math.max(0, Math.ceil(end - performance.now()) / 1000);
    const result = await ask(Math.min(waitSeconds, left, waitSecondsMax));
    if (isTerminal(result.status)) return result;
    if (performance.now() >= end) {
      throw new TransportFailure('timeout', `${result.job_id} is still ${result.status} after ${timeoutSeconds} s`);
    }
    // A random pause follows an expired wait, so that many clients do not ask in step.
    await sleep(delayMilliseconds(policy, expired, Math.random(), null), signal);
  }
}
