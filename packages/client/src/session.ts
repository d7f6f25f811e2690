/** What every call needs: one service and one credential. */
import { waitSecondsMax } from '@vouchbox/protocol/vocabulary';
import { DEFAULT_RETRY, type RetryPolicy, type Sleep, sleepFor } from './backoff.ts';
import { platformSha256, type Sha256 } from './digest.ts';
import type { Answer, Endpoint } from './transport.ts';
import { Turns } from './turns.ts';

export interface ClientOptions extends Endpoint {
  readonly retry?: Partial<RetryPolicy>;
  /** Milliseconds for one exchange, in addition to the wait that the request asks for. The default is 30,000. */
  readonly timeoutMilliseconds?: number;
  /** The digest for platforms without SHA-256: pages served without TLS. */
  readonly sha256?: Sha256;
  /** Replaces the pause between tries. */
  readonly sleep?: Sleep;
  /**
   * `key-in-stream-url` allows a stream whose address contains the key, if a trusted older server answers that it has no ticket
   * route. There is no other way to read such a server's events and results. This is off by default, because addresses end up in
   * logs. Spec § Authentication 6.
   */
  readonly legacy?: 'none' | 'key-in-stream-url';
}

/** The part of a service's capabilities that calls depend on. */
export interface ServiceFacts {
  readonly features: readonly string[];
  /** How many runs one tenant may have open; null if the service does not say. */
  readonly runsMax: number | null;
}

export interface Session extends Required<Omit<ClientOptions, 'retry'>> {
  readonly policy: RetryPolicy;
  /** The facts about the service; null until they are requested. */
  facts: Promise<ServiceFacts> | null;
  /** The last whole answer about the service itself. */
  said: Answer | null;
  readonly turns: Turns;
  readonly promised: Promised;
}

/** The values that promises are compared with. */
export interface Promised {
  /** The credential's tenant; null until a promise is compared with it. */
  tenant: string | null;
  /** The largest job number in the promises to this client. */
  highestNumber: number;
}

/** The longest delay of a timer, minus the longest wait that a request adds. */
const timeoutMillisecondsMax = 2 ** 31 - 1 - waitSecondsMax * 1000;

/**
 * Completes the options.
 * @throws TypeError before any request if the address or the key cannot be right
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
