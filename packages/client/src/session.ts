/** One service and one credential, as every call needs them. */
import { waitSecondsMax } from '@vouchbox/protocol/vocabulary';
import { DEFAULT_RETRY, type RetryPolicy, type Sleep, sleepFor } from './backoff.ts';
import { platformSha256, type Sha256 } from './digest.ts';
import type { Answer, Endpoint } from './transport.ts';
import { Turns } from './turns.ts';

export interface ClientOptions extends Endpoint {
  readonly retry?: Partial<RetryPolicy>;
  /** Milliseconds for one exchange, in addition to the wait that the request asks for. Default 30,000. */
  readonly timeoutMilliseconds?: number;
  /** The digest for platforms without SHA-256: pages served without TLS. */
  readonly sha256?: Sha256;
  /** Replaces the pause between tries. */
  readonly sleep?: Sleep;
  /**
   * `key-in-stream-url` allows a stream with the key in its address, if a trusted server, older than stream tickets, answers that
   * it has no ticket route. Events and results of such a server can be read in no other way. Off by default: addresses end up in
   * logs. Spec § Authentication 6.
   */
  readonly legacy?: 'none' | 'key-in-stream-url';
}

/** The part of a service's own description on which calls depend. */
export interface ServiceFacts {
  readonly features: readonly string[];
  /** How many runs one tenant may have open; null if the service does not say. */
  readonly runsMax: number | null;
}

export interface Session extends Required<Omit<ClientOptions, 'retry'>> {
  readonly policy: RetryPolicy;
  /** The facts about the service, once they were requested. */
  facts: Promise<ServiceFacts> | null;
  /** The last whole answer about the service itself. */
  said: Answer | null;
  readonly turns: Turns;
  readonly promised: Promised;
}

/** The values with which promises are compared. */
export interface Promised {
  /** The tenant of the credential, once a promise was compared with it. */
  tenant: string | null;
  /** The largest number of a job that was promised to this client. */
  highestNumber: number;
}

/** The longest delay of a timer, less the longest wait that a request adds. */
const timeoutMillisecondsMax = 2 ** 31 - 1 - waitSecondsMax * 1000;

/**
 * Completes the options.
 * @throws TypeError for an address or a key that cannot be right, before any request
 */
export function openSession(options: ClientOptions): Session {
  const { baseUrl, apiKey, retry } = options;
  if (!/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new TypeError('baseUrl must be http://HOST or https://HOST, without user, query or fragment');
  }
  if (apiKey !== null && !/^[!-~]+$/.test(apiKey)) {
    throw new TypeError('apiKey must be visible ASCII or null');
  }
  return {
    sha256: platformSha256,
    sleep: sleepFor,
    legacy: 'none',
    ...options,
    timeoutMilliseconds: Math.min(options.timeoutMilliseconds ?? 30_000, timeoutMillisecondsMax),
    baseUrl: baseUrl.replace(/\/$/, ''),
    policy: { ...DEFAULT_RETRY, ...retry },
    facts: null,
    said: null,
    turns: new Turns(),
    promised: { tenant: null, highestNumber: 0 },
  };
}
