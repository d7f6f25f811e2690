import { describe, expect, test, vi } from 'vitest';
import { DEFAULT_RETRY, delayMilliseconds, isWorthRetrying, retrying, sleepFor } from './backoff.ts';
import { EvidenceFailure, isAway, ServiceFailure, TransportFailure } from './failure.ts';

function failure(fields: Partial<ServiceFailure>): ServiceFailure {
  const defaults = {
    code: 'capacity_exhausted',
    status: 503,
    retryable: true,
    requestId: null,
    retryAfterSeconds: null,
  };
  return new ServiceFailure('refused', { ...defaults, ...fields });
}

describe('the delay before another try', () => {
  test('has an upper bound that doubles with every failed try, up to the cap', { tags: ['Errors-26'] }, () => {
    const bounds = [1, 2, 3, 6, 7, 50].map((tries) => delayMilliseconds(DEFAULT_RETRY, tries, 1, null));
    expect(bounds).toEqual([200, 400, 800, 6400, 10_000, 10_000]);
  });

  test('is random between zero and its upper bound, so that clients do not retry at the same moment', {
    tags: ['Errors-26'],
  }, () => {
    expect(delayMilliseconds(DEFAULT_RETRY, 3, 0, null)).toBe(0);
    expect(delayMilliseconds(DEFAULT_RETRY, 3, 0.5, null)).toBe(400);
  });

  test('is never shorter than Retry-After', { tags: ['Errors-24'] }, () => {
    expect(delayMilliseconds(DEFAULT_RETRY, 1, 0, failure({ retryAfterSeconds: 7 }))).toBe(7000);
  });

  test('is spread over a time as long as Retry-After, so that refused callers do not return together', () => {
    expect(delayMilliseconds(DEFAULT_RETRY, 1, 0.5, failure({ retryAfterSeconds: 7 }))).toBe(10_500);
    expect(delayMilliseconds(DEFAULT_RETRY, 2, 0.5, failure({ retryAfterSeconds: 7 }))).toBe(14_000);
  });
});

describe('the retry rule', () => {
  test.each([
    ['a retryable refusal', failure({}), true],
    ['a refusal that stays the same', failure({ retryable: false, status: 400 }), false],
    ['a fact about the job', failure({ code: 'job_not_terminal', status: 409 }), false],
    ['an attestation that is not ready', failure({ code: 'attestation_unavailable', status: 404 }), false],
    ['a Retry-After at the bound', failure({ retryAfterSeconds: 60 }), true],
    ['a Retry-After past the bound', failure({ retryAfterSeconds: 61 }), false],
    ['no answer', new TransportFailure('network', ''), true],
    ['no answer in time', new TransportFailure('timeout', ''), true],
    ['a truncated answer', new TransportFailure('truncated', ''), true],
    ['a gateway without its service', new TransportFailure('unstructured', '', { status: 502 }), true],
    [
      'a gateway that asks for a longer delay than is allowed',
      new TransportFailure('unstructured', '', { status: 503, retryAfterSeconds: 61 }),
      false,
    ],
    ['a missing route', new TransportFailure('unstructured', '', { status: 404 }), false],
    ['bytes with another digest', new TransportFailure('digest', ''), false],
    ['a bug', new TypeError('x is undefined'), false],
  ])('decides whether %s is tried again: %s', (_name, error, worth) => {
    expect(isWorthRetrying(DEFAULT_RETRY, error)).toBe(worth);
  });
});

describe('retrying an operation', () => {
  const run = async (failures: number, fields: Partial<ServiceFailure>) => {
    const delays: number[] = [];
    let tries = 0;
    const sleep = async (milliseconds: number) => void delays.push(milliseconds);
    const operation = async () => {
      tries++;
      if (tries <= failures) throw failure(fields);
      return 'done';
    };
    const outcome = await retrying(operation, { policy: DEFAULT_RETRY, sleep, signal: undefined }).catch(
      (error: unknown) => error,
    );
    return { outcome, tries, delays };
  };

  test('stops at the first success', async () => {
    const { outcome, tries, delays } = await run(3, {});
    expect([outcome, tries, delays.length]).toEqual(['done', 4, 3]);
  });

  test('may succeed on the last allowed try, and makes no further try', async () => {
    expect((await run(4, {})).outcome).toBe('done');
    const spent = await run(5, {});
    expect(spent.tries).toBe(5);
    expect(spent.outcome).toBeInstanceOf(ServiceFailure);
  });

  test('continues while the service sends Retry-After, and waits at least that time before each try', {
    tags: ['Errors-24'],
  }, async () => {
    const { outcome, delays } = await run(30, { code: 'rate_limited', status: 429, retryAfterSeconds: 2 });
    expect([outcome, delays.length]).toEqual(['done', 30]);
    for (const delay of delays) expect(delay).toBeGreaterThanOrEqual(2000);
  });

  test.each([
    ['attemptsMax', failure({})],
    ['patienceSeconds', failure({ retryAfterSeconds: 5 })],
    ['patienceSeconds', new TransportFailure('network', 'connect ECONNREFUSED')],
  ])('ends if %s is not a number', async (name, error) => {
    const operation = vi.fn<() => Promise<never>>(() => Promise.reject(error));
    const policy = { ...DEFAULT_RETRY, bearsLoss: error instanceof TransportFailure, [name]: Number.NaN };
    const tried = retrying(operation, { policy, sleep: async () => {}, signal: undefined });
    await expect(tried).rejects.toBe(error);
    expect(operation.mock.calls.length).toBeLessThanOrEqual(DEFAULT_RETRY.attemptsMax);
  });

  test("ends with the service's last answer once the total wait reaches its bound", async () => {
    const { outcome, delays } = await run(10_000, { code: 'queue_full', status: 503, retryAfterSeconds: 5 });
    expect(outcome).toMatchObject({ code: 'queue_full' });
    const waited = delays.reduce((sum, delay) => sum + delay, 0);
    expect(waited).toBeLessThanOrEqual(DEFAULT_RETRY.patienceSeconds * 1000);
    expect(waited).toBeGreaterThan(DEFAULT_RETRY.patienceSeconds * 1000 - 20_000);
  });
});

describe('a request about work that the service has accepted', () => {
  const away = new TransportFailure('network', 'connect ECONNREFUSED');
  const run = async (failures: number, error: Error, isAccepted = true) => {
    const delays: number[] = [];
    const sleep = async (milliseconds: number) => void delays.push(milliseconds);
    let tries = 0;
    const operation = async () => {
      if (++tries <= failures) throw error;
      return 'done';
    };
    const policy = { ...DEFAULT_RETRY, bearsLoss: isAccepted };
    const trying = { policy, sleep, signal: undefined };
    const outcome = await retrying(operation, trying).catch((caught: unknown) => caught);
    return { outcome, tries, delays };
  };

  test.each([
    ['no connection', away],
    ['no answer in time', new TransportFailure('timeout', '')],
    ['a proxy without its service', new TransportFailure('unstructured', '', { status: 502 })],
    ['a service that stops', failure({ code: 'shutting_down', status: 503 })],
  ])('is repeated more often than other requests, with bounded pauses: %s', async (_what, error) => {
    const { outcome, delays } = await run(40, error);
    expect(outcome).toBe('done');
    for (const delay of delays) expect(delay).toBeLessThanOrEqual(DEFAULT_RETRY.capMilliseconds);
    expect((await run(40, error, false)).tries).toBe(DEFAULT_RETRY.attemptsMax);
  });

  test('fails with the last failure once patienceSeconds are over', async () => {
    const { outcome, delays } = await run(10_000, away);
    expect(outcome).toBe(away);
    const waited = delays.reduce((sum, delay) => sum + delay, 0);
    expect(waited).toBeLessThanOrEqual(DEFAULT_RETRY.patienceSeconds * 1000 + 10_000);
    expect(waited).toBeGreaterThan(DEFAULT_RETRY.patienceSeconds * 1000 - 20_000);
  });

  test('gets no more tries than other requests if the service answers with an error', async () => {
    const failing = failure({ code: 'internal_error', status: 500 });
    expect((await run(40, failing)).tries).toBe(DEFAULT_RETRY.attemptsMax);
  });

  /** Runs an operation that fails with each of these errors in turn, and then succeeds. */
  const runThrough = (errors: readonly Error[], policy: Partial<typeof DEFAULT_RETRY> = {}) => {
    const left = [...errors];
    const operation = async () => {
      const error = left.shift();
      if (error !== undefined) throw error;
      return 'done';
    };
    const trying = {
      policy: { ...DEFAULT_RETRY, bearsLoss: true, ...policy },
      sleep: async () => {},
      signal: undefined,
    };
    return retrying(operation, trying);
  };
  const outage = Array<Error>(10).fill(away);

  test.each([
    ['a truncated answer', new TransportFailure('truncated', '')],
    ['a failure of the service', failure({ code: 'internal', status: 500 })],
  ])('has all its tries left for %s after the service was away', async (_what, error) => {
    const few = Array<Error>(DEFAULT_RETRY.attemptsMax - 1).fill(error);
    expect(await runThrough([...outage, ...few, ...outage])).toBe('done');
    await expect(runThrough([...outage, ...few, error])).rejects.toBe(error);
  });

  test('is repeated for the whole patienceSeconds after each loss of the service', async () => {
    const hours = Array.from({ length: 30 }, () => [
      ...outage,
      failure({ code: 'rate_limited', retryAfterSeconds: 0 }),
    ]);
    expect(await runThrough(hours.flat())).toBe('done');
  });

  test('uses up none of patienceSeconds while the service holds the request', async () => {
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
    const full = failure({ status: 429, code: 'rate_limited', retryAfterSeconds: 1 });
    const errors: Error[] = [full, away, full, away];
    const held = async () => {
      now += 50_000;
      const error = errors.shift();
      if (error !== undefined) throw error;
      return 'done';
    };
    const policy = { ...DEFAULT_RETRY, patienceSeconds: 20, attemptsMax: 2, bearsLoss: true };
    const trying = { policy, sleep: async () => {}, signal: undefined };
    expect(await retrying(held, trying)).toBe('done');
    clock.mockRestore();
  });
});

describe('a submission that waits for its result', () => {
  const triesWith = async (cause: object) => {
    let tries = 0;
    const operation = async () => {
      tries++;
      throw new TransportFailure('network', '', { cause: new TypeError('fetch failed', { cause }) });
    };
    const trying = { policy: DEFAULT_RETRY, sleep: async () => {}, signal: undefined, isWaiting: true };
    await expect(retrying(operation, trying)).rejects.toBeInstanceOf(TransportFailure);
    return tries;
  };
  const refused = { code: 'ECONNREFUSED', syscall: 'connect' };
  const beforeTls = 'Client network socket disconnected before secure TLS connection was established';

  test.each([
    ['was refused', refused],
    ['was refused at each address of the name', { code: 'ECONNREFUSED', errors: [refused, refused] }],
    ['found no address', { code: 'ENOTFOUND', syscall: 'getaddrinfo' }],
    ['got no answer about the name', { code: 'EAI_AGAIN', syscall: 'getaddrinfo' }],
    ['found no way to the host', { code: 'EHOSTUNREACH', syscall: 'connect' }],
    ['found no way to the network', { code: 'ENETUNREACH', syscall: 'connect' }],
    ['did not come in time', { code: 'UND_ERR_CONNECT_TIMEOUT' }],
    ['met another protocol than TLS', { code: 'ERR_SSL_WRONG_VERSION_NUMBER' }],
    ['met a certificate that nobody signed', { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }],
    ['met a certificate of an unknown issuer', { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }],
    ['ended before there was TLS', { code: 'ECONNRESET', message: beforeTls }],
    ['met a certificate of another host', { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }],
  ])('is repeated no more often than other requests if its connection %s', async (_what, cause) => {
    expect(await triesWith(cause)).toBe(DEFAULT_RETRY.attemptsMax);
  });

  test.each([
    ['was reset', { code: 'ECONNRESET', syscall: 'read' }],
    ['lost its host', { code: 'EHOSTUNREACH', syscall: 'read' }],
    ['ended', { code: 'UND_ERR_SOCKET' }],
  ])('counts as accepted if its connection %s, because it may have arrived', async (_what, cause) => {
    expect(await triesWith(cause)).toBeGreaterThan(DEFAULT_RETRY.attemptsMax);
  });
});

test('isAway is true for errors that show that the service is away, and false for all others', () => {
  const away = [new TransportFailure('network', ''), new TransportFailure('timeout', ''), failure({ status: 503 })];
  away.push(new TransportFailure('unstructured', '', { status: 502 }));
  const refusals = [failure({ status: 500 }), new TransportFailure('digest', ''), new EvidenceFailure('job', '')];
  const ofOthers = [Object.assign(new Error('of another library'), { status: 503 }), 'network', null, undefined];
  expect([...away, ...refusals, ...ofOthers].map(isAway)).toEqual([
    ...away.map(() => true),
    ...refusals.map(() => false),
    ...ofOthers.map(() => false),
  ]);
});

test("a pause between two tries ends at once with the signal's reason if the signal aborts", async () => {
  const abort = new AbortController();
  const pause = sleepFor(3_600_000, abort.signal);
  abort.abort(new Error('enough'));
  await expect(pause).rejects.toThrow('enough');
  await expect(sleepFor(3_600_000, abort.signal)).rejects.toThrow('enough');
});
