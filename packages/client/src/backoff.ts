/**
 * When to try again: bounded exponential backoff with full jitter, but never sooner than the service asks. Spec § Errors
 * 24, 26.
 */
import { isAway, ServiceFailure, TransportFailure } from './failure.ts';

export interface RetryPolicy {
  /** The most tries, including the first one. With 1, nothing is retried. */
  readonly attemptsMax: number;
  /** The upper bound of the first delay. The bound doubles with each further delay. */
  readonly baseMilliseconds: number;
  readonly capMilliseconds: number;
  /** If `Retry-After` is longer than this, there is no further try: the caller gets the refusal at once. */
  readonly retryAfterSecondsMax: number;
  /**
   * How long one request waits in total for room in the service or for the caller's budget. Such a wait follows no
   * failure, so it does not count as a try. For accepted work, this is also how long the service may be lost.
   */
  readonly patienceSeconds: number;
  /**
   * Whether every request is repeated for `patienceSeconds` while the service is lost. A wrong address is then reported
   * only after that time. If false, only waits for accepted work are repeated: that work goes on after a restart.
   */
  readonly bearsLoss: boolean;
}

export const DEFAULT_RETRY: RetryPolicy = {
  attemptsMax: 5,
  baseMilliseconds: 200,
  capMilliseconds: 10_000,
  retryAfterSecondsMax: 60,
  patienceSeconds: 600,
  bearsLoss: false,
};

/** Waits for this time. If the signal aborts, ends at once with the signal's reason. */
export type Sleep = (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;

/**
 * Milliseconds to wait before the next try. Callers that were refused together must not return together, so each
 * adds a random time to what the service asked for.
 * @param tries how many tries have failed, from 1
 * @param random a number from 0 to below 1
 */
export function delayMilliseconds(policy: RetryPolicy, tries: number, random: number, error: unknown): number {
  const asked = askedSeconds(error) * 1000;
  const ceiling = Math.min(policy.capMilliseconds, policy.baseMilliseconds * 2 ** (tries - 1));
  return asked + random * Math.max(ceiling, Math.min(asked * tries, asked + policy.capMilliseconds));
}

/** The seconds in `Retry-After`, from the service or a proxy; 0 if there was no such header. */
function askedSeconds(error: unknown): number {
  return (error as ServiceFailure | TransportFailure | null)?.retryAfterSeconds ?? 0;
}

/**
 * Whether it is safe and useful to try the same operation again. `job_not_terminal` and `attestation_unavailable` are
 * facts about a job, not failures: the caller decides whether to wait.
 */
export function isWorthRetrying(policy: RetryPolicy, error: unknown): boolean {
  if (askedSeconds(error) > policy.retryAfterSecondsMax) return false;
  if (error instanceof ServiceFailure) return error.retryable && error.status !== 404 && error.status !== 409;
  if (!(error instanceof TransportFailure)) return false;
  if (error.reason === 'unstructured') return [429, 502, 503, 504].includes(error.status ?? 0);
  return ['network', 'timeout', 'truncated'].includes(error.reason);
}

export interface Retrying {
  readonly policy: RetryPolicy;
  readonly sleep: Sleep;
  readonly signal: AbortSignal | undefined;
  /** Whether the request starts work and waits for its end. Once the request may have arrived, the work counts as accepted. */
  readonly isWaiting?: boolean;
  /** Called before each further try. */
  readonly onRetry?: (() => void) | undefined;
}

/** Whether the service, or a proxy in front of it, said when there will be room. Such a refusal is not a failure. */
function isPutOff(error: unknown): boolean {
  const { status = null, retryAfterSeconds = null } = error as Partial<ServiceFailure>;
  return retryAfterSeconds !== null && (status === 429 || status === 503);
}

/** Matches the call, code or message of an error that prevents a connection: no address, no host, no TLS. */
const unconnected = /^(connect|getaddrinfo) |CONNECT_TIMEOUT|CERT|SIGNATURE|SSL|TLS/;

/**
 * Whether a failed request may have arrived. It did not arrive if the service refused it or no connection was made. Browsers hide
 * why a request failed, so in a browser any request without an answer may have arrived.
 */
function mayHaveArrived(error: unknown): boolean {
  type Cause = { readonly [name in 'syscall' | 'code' | 'message']?: string } & { readonly errors?: readonly Cause[] };
  const cause = (error as { readonly cause?: { readonly cause?: Cause } }).cause?.cause;
  // If a host name has several addresses, there is one error for each address.
  const { syscall, code, message } = cause?.errors?.[0] ?? cause ?? {};
  return error instanceof TransportFailure && !unconnected.test(`${syscall} ${code} ${message}`);
}

/** Runs a repeatable operation until it succeeds, fails for good, or has no tries or no patience left. */
export async function retrying<T>(
  operation: () => Promise<T>,
  { policy, sleep, signal, isWaiting = false, onRetry }: Retrying,
): Promise<T> {
  const patience = policy.patienceSeconds * 1000;
  let isKept = policy.bearsLoss;
  let [lost, waited] = [0, 0];
  for (let tries = 0, losses = 0, puttingsOff = 0; ; ) {
    const began = performance.now();
    try {
      return await operation();
    } catch (error) {
      if (policy.attemptsMax === 1 || !isWorthRetrying(policy, error)) throw error;
      const pause = (times: number) => delayMilliseconds(policy, times, Math.random(), error);
      isKept ||= isWaiting && mayHaveArrived(error);
      const isLost = isKept && isAway(error) && !isPutOff(error);
      // Any answer shows that the service is back.
      if (!isLost) lost = losses = 0;
      let delay: number;
      // The comparisons below are negated: if the policy has NaN or undefined, they are false, and the tries end.
      if (isLost) {
        // The time of the first failed request does not count, since the service may have been there and held the request.
        if (losses > 0) lost += performance.now() - began;
        lost += delay = pause(++losses);
        if (!(lost <= patience || losses < policy.attemptsMax)) throw error;
      } else if (isPutOff(error)) {
        waited += delay = pause(++puttingsOff);
        if (!(waited <= patience)) throw error;
      } else {
        delay = pause(++tries);
        if (!(tries < policy.attemptsMax)) throw error;
      }
      onRetry?.();
      await sleep(delay, signal);
    }
  }
}

/** Sleeps by the real clock. */
export function sleepFor(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', onAbort);
  });
}
