/**
 * Many requests on one connection: each is answered in its turn, few are under way at once, and other clients are served
 * meanwhile.
 */
import { connect, type Socket } from 'node:net';
import type { JobList } from '@vouchbox/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type JsonText, textOf } from '../ground/json-text.ts';
import { NO_OBSERVER, type Observer } from '../telemetry/observer.ts';
import { unansweredMax } from './connections/intake.ts';
import { bearer, openServer } from './server.fixture.ts';
import { parseAnswers, RawSocket } from './socket.fixture.ts';

/** A list in the form that a service of another version might send. */
const listOf = (list: object) => textOf(list) as JsonText<JobList>;

const HOST = 'Host: svc.example\r\n';
const KEY = 'Authorization: Bearer key-of-acme\r\n';
const LIST = `GET /v1/jobs HTTP/1.1\r\n${HOST}${KEY}\r\n`;
const HEALTH = `GET /healthz HTTP/1.1\r\n${HOST}\r\n`;
const CONTRACT = `GET /openapi.json HTTP/1.1\r\n${HOST}\r\n`;

test('if a connection sends twenty requests at once, eight are in progress at a time, and all are answered in order', async () => {
  const waiting: ((text: JsonText<JobList>) => void)[] = [];
  const list = () => new Promise<JsonText<JobList>>((resolve) => waiting.push(resolve));
  await using server = await openServer({ jobs: { list } });
  using raw = await RawSocket.open(server.port);
  raw.send(LIST.repeat(20));
  await expect.poll(() => waiting.length).toBe(unansweredMax);
  // Takes long enough for the other requests to have begun as well.
  for (let count = 0; count < 20; count += 1) await (await fetch(`${server.url}/healthz`)).text();
  expect(waiting).toHaveLength(unansweredMax);
  for (let index = 0; index < 20; index += 1) {
    await expect.poll(() => waiting.length).toBeGreaterThan(index);
    waiting[index]?.(listOf({ index }));
    expect(waiting.length).toBeLessThanOrEqual(index + unansweredMax);
  }
  const answers = await raw.answers(20);
  expect(answers.map(({ body }) => (JSON.parse(body) as { index: number }).index)).toEqual([...Array(20).keys()]);
});

test.each([
  ['read nothing', true],
  ['read everything', false],
])(
  'a client is answered after few of 200,000 requests on other connections if the clients there %s',
  async (_how, isPaused) => {
    let begun = 0;
    const observer = {
      ...NO_OBSERVER,
      requestBegan: (_request: unknown, proceed: () => void) => {
        begun += 1;
        proceed();
      },
    };
    await using server = await openServer({ observer });
    using other = await RawSocket.open(server.port);
    using stack = new DisposableStack();
    for (let index = 0; index < 20; index += 1) {
      const raw = stack.use(await RawSocket.open(server.port));
      // The answers are read and discarded, because keeping them would make this test slow.
      raw.socket.removeAllListeners('data');
      if (isPaused) raw.socket.pause();
      else raw.socket.resume();
      raw.send(CONTRACT.repeat(10_000));
    }
    await expect.poll(() => begun).toBeGreaterThan(100);
    for (let count = 1; count <= 20; count += 1) {
      const before = begun;
      await other.send(HEALTH).answers(count);
      expect(begun - before).toBeLessThan(500);
    }
  },
);

test('the request of a client that connects after a crowd is answered before the crowd’s later requests', async () => {
  const crowd = 150;
  let begun = 0;
  const { promise: begunBefore, resolve } = Promise.withResolvers<number>();
  const observer: Observer = {
    ...NO_OBSERVER,
    requestBegan({ route }, proceed) {
      begun += 1;
      if (route === '/healthz') resolve(begun - 1);
      proceed();
    },
  };
  await using server = await openServer({ observer });
  using stack = new DisposableStack();
  // All connections are in the kernel's queue before the service accepts the first.
  for (let index = 0; index < crowd; index += 1) {
    connectNow(stack, server.port).write(LIST.repeat(unansweredMax));
  }
  connectNow(stack, server.port).write(HEALTH);
  expect(await begunBefore).toBeLessThan(crowd * 3);
});

function connectNow(stack: DisposableStack, port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  stack.defer(() => socket.destroy());
  return socket.resume();
}

test('for a client that reads nothing, few answers wait unsent and further requests are not begun', async () => {
  let begun = 0;
  const list = async () => {
    begun += 1;
    return listOf({ items: ['x'.repeat(16 * 1024)], next_cursor: null });
  };
  await using server = await openServer({ jobs: { list } });
  using raw = await RawSocket.open(server.port);
  raw.socket.pause();
  raw.send(LIST.repeat(10_000));
  // The kernel buffers some megabytes for the reader. Further answers, once begun, would wait in this process.
  await expect.poll(() => server.log.filter(({ msg }) => msg === 'request answered').length).toBeGreaterThan(50);
  let before = -1;
  await expect
    .poll(async () => {
      const isStill = begun === before;
      before = begun;
      for (let count = 0; count < 20; count += 1) await (await fetch(`${server.url}/healthz`)).text();
      return isStill;
    })
    .toBe(true);
  const answered = server.log.filter(({ msg, route }) => msg === 'request answered' && route === '/v1/jobs').length;
  expect(begun - answered).toBeLessThanOrEqual(unansweredMax);
  expect(begun).toBeLessThan(2000);
});

test('each request gets its own answer, however the bytes are split', async () => {
  await using server = await openServer();
  const json = (text: string) => JSON.stringify({ language: 'bash', code: text });
  const post = (framing: string, body: string) =>
    `POST /v1/jobs HTTP/1.1\r\n${HOST}${KEY}Content-Type: application/json\r\n${framing}\r\n\r\n${body}`;
  const padded = `\r\n\r\n\r\n\r\n${json('true')}\r\n\r\n`;
  const kinds: readonly (readonly [string, number])[] = [
    [HEALTH, 200],
    [LIST, 200],
    [`GET /v1/whoami HTTP/1.1\r\n${HOST}\r\n`, 401],
    [`\r\n${HEALTH}`, 200],
    [post(`Content-Length: ${json('true').length}`, json('true')), 201],
    [post(`Content-Length: ${padded.length}`, padded), 201],
    [post('Transfer-Encoding: chunked', `${padded.length.toString(16)}\r\n${padded}\r\n0\r\n\r\n`), 201],
    [post('Content-Length: 3', '{{{'), 400],
  ];
  const sequence = fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 30 });
  const cuts = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(sequence, cuts, async (requests, sizes) => {
      using raw = await RawSocket.open(server.port);
      raw.socket.setNoDelay(true);
      let left = requests.map(([bytes]) => bytes).join('');
      for (let at = 0; left !== ''; at += 1) {
        const size = at < sizes.length * 2 ? (sizes[at % sizes.length] ?? 1) : left.length;
        raw.send(left.slice(0, size));
        left = left.slice(size);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await raw.until(() => parseAnswers(raw.text).length >= requests.length);
      expect(parseAnswers(raw.text).map(({ status }) => status)).toEqual(requests.map(([, status]) => status));
    }),
    { numRuns: 60 },
  );
});

test('a body behind seven unanswered requests is read, and the request behind that body waits', async () => {
  const waiting: (() => void)[] = [];
  const list = () => new Promise<JsonText<JobList>>((resolve) => waiting.push(() => resolve(listOf({}))));
  await using server = await openServer({ jobs: { list } });
  using raw = await RawSocket.open(server.port);
  const body = JSON.stringify({ language: 'bash', code: 'true' });
  const framing = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  raw.send(LIST.repeat(unansweredMax - 1), `POST /v1/jobs HTTP/1.1\r\n${HOST}${KEY}${framing}`);
  await expect.poll(() => waiting.length).toBe(unansweredMax - 1);
  raw.send(body + LIST);
  await expect.poll(() => server.submissions.length).toBe(1);
  for (let count = 0; count < 20; count += 1)
    await (await fetch(`${server.url}/healthz`, { headers: bearer() })).text();
  expect(waiting).toHaveLength(unansweredMax - 1);
  for (const answer of waiting.splice(0)) answer();
  await expect.poll(() => waiting.length).toBe(1);
  waiting[0]?.();
  expect((await raw.answers(unansweredMax + 1)).map(({ status }) => status)).toEqual([...Array(7).fill(200), 201, 200]);
});
