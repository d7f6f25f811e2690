/**
 * Spec § Limits 8, 17: a deadline covers the whole head or the whole body. Single bytes do not extend the deadline.
 * `CONTRACT_LOAD=full` uses the real deadlines. Rows E-13 and E-14.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { TRANSPORT_BOUNDS } from '../../packages/server/src/http/connections/transport.ts';
import {
  KEY_OF_ACME,
  KEY_OF_OTHER,
  openServer,
  type TestServer,
} from '../../packages/server/src/http/server.fixture.ts';
import { RawSocket } from '../../packages/server/src/http/socket.fixture.ts';
import { loadSize, loadTimeout } from './load-size.ts';

const headMilliseconds = loadSize({ small: 400, full: TRANSPORT_BOUNDS.headMilliseconds });
const bodyMilliseconds = loadSize({ small: 1500, full: TRANSPORT_BOUNDS.bodyMilliseconds });
/** The time between two bytes, several times shorter than each deadline. */
const dripMilliseconds = loadSize({ small: 100, full: 5000 });
/** A deadline may seem to end too early by this much, because timers are inexact and a client sees its beginning late. */
const earlyMilliseconds = 100;

/** Each server has only one short deadline. The other is long enough that even a slow machine does not exceed it. */
let heads: TestServer;
let bodies: TestServer;
beforeAll(async () => {
  const checkMilliseconds = loadSize({ small: 20, full: TRANSPORT_BOUNDS.checkMilliseconds });
  heads = await openServer({ bounds: { headMilliseconds, checkMilliseconds } });
  bodies = await openServer({ bounds: { bodyMilliseconds }, permits: { body: { total: 2, perTenant: 1 } } });
});
afterAll(async () => {
  await heads[Symbol.asyncDispose]();
  await bodies[Symbol.asyncDispose]();
});

const head = (key: string) =>
  `POST /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;

/** Sends the first bytes, then one byte at a time until the connection is closed, and returns how long that took. */
async function dripped({ port }: TestServer, first: string, rest: string) {
  const began = performance.now();
  using raw = await RawSocket.open(port);
  if (first !== '') raw.send(first);
  let sent = 0;
  const drip = setInterval(() => {
    if (!raw.isClosed && sent < rest.length) raw.send(rest.charAt(sent++));
  }, dripMilliseconds);
  const answers = await raw.untilClosed();
  clearInterval(drip);
  return { answers, sent, took: performance.now() - began };
}

test.each([
  ['sends nothing (E-13)', '', ''],
  ['sends its head a byte at a time (E-13)', 'G', 'ET /healthz HTTP/1.1\r\nHost: a\r\nX: '.padEnd(10_000, 'x')],
  ['sends header lines without end (E-13)', head(KEY_OF_ACME), 'a: b\r\n'.repeat(1000)],
])(
  'a client that %s is closed at its deadline, without an answer',
  { ...loadTimeout, tags: ['Limits-17', 'E-13'] },
  async (_name, first, rest) => {
    const { answers, sent, took } = await dripped(heads, first, rest);
    expect(answers).toEqual([]);
    expect(took).toBeGreaterThan(headMilliseconds - earlyMilliseconds);
    expect(sent).toBeLessThanOrEqual(rest.length);
  },
);

test.each([
  ['stalls (E-14)', ''],
  ['comes a byte at a time (E-14)', ' '.repeat(1000)],
])(
  'a request whose body %s is answered with 408 at its deadline, and frees its permit',
  { ...loadTimeout, tags: ['Limits-8', 'E-14'] },
  async (_name, rest) => {
    const slow = dripped(bodies, `${head(KEY_OF_ACME)}Content-Length: 2000\r\n\r\n{`, rest);
    let isOver = false;
    void slow.then(() => {
      isOver = true;
    });
    await expect.poll(() => isOver || bodies.permits.held('body') === 1, loadTimeout).toBe(true);
    // While the body arrives, this tenant has no permit left. Another tenant has its own permit.
    const ask = async (key: string) => {
      using raw = await RawSocket.open(bodies.port);
      return await raw.send(`${head(key)}Content-Length: 2\r\n\r\n{}`).answer();
    };
    const [refused, other] = [await ask(KEY_OF_ACME), await ask(KEY_OF_OTHER)];
    const { answers, took } = await slow;
    const [answer] = answers;
    expect([answers.length, answer?.status, answer?.headers['connection']]).toEqual([1, 408, 'close']);
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ error: { code: 'body_timeout', retryable: true } });
    expect(took).toBeGreaterThan(bodyMilliseconds - earlyMilliseconds);
    // On a slow machine this request may come after the deadline, when the permit is free again.
    expect([201, 429]).toContain(refused.status);
    expect(other.status).toBe(201);
    await expect.poll(() => bodies.permits.held('body'), loadTimeout).toBe(0);
    expect((await ask(KEY_OF_ACME)).status).toBe(201);
  },
);
