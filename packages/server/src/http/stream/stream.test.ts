import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type JobEvent, OPERATIONS, STREAM_CLOSE_CODES, type StreamTicket } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CredentialKind } from '../../access/authenticate.ts';
import { textOf } from '../../ground/json-text.ts';
import { bodyOf, LongJson } from '../../job/body.ts';
import type { Jobs } from '../../job/jobs.ts';
import { bearer, credentialWith, JOB, KEY_OF_OTHER, openServer, type TestServer } from '../server.fixture.ts';
import { RawSocket } from '../socket.fixture.ts';

/** A history to which the test adds events. Following it ends with `finished`. */
function livingJob(stored: number) {
  const events: JobEvent[] = [];
  const waiting = new Set<() => void>();
  const add = (kind = 'stdout', data: unknown = { text: 'x' }) => {
    const hashes = { hash_version: 1, prev_hash: null, event_hash: null };
    events.push({ job_id: JOB, seq: events.length + 1, timestamp: '', kind, data, ...hashes });
    for (const wake of waiting) wake();
    waiting.clear();
  };
  for (let index = 0; index < stored; index += 1) add();
  const state = { begun: 0, following: 0 };
  const tail: Jobs['tail'] = async function* (_caller, _id, { after, signal }) {
    state.begun += 1;
    state.following += 1;
    try {
      for (let next = after; !signal.aborted; ) {
        const page = events.slice(next, next + 100);
        next += page.length;
        if (page.length > 0) yield page.map((event) => textOf(event));
        if (page.at(-1)?.kind === 'finished') return;
        if (page.length === 0) await woken(signal);
      }
    } finally {
      state.following -= 1;
    }
  };
  const woken = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      waiting.add(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  return { tail, add, finish: () => add('finished', {}), state };
}

async function mint(server: TestServer): Promise<StreamTicket> {
  const response = await fetch(`${server.url}/v1/jobs/${JOB}/stream-ticket`, { method: 'POST', headers: bearer() });
  expect(response.status).toBe(201);
  return (await response.json()) as StreamTicket;
}

/** The code with which the server closed. Fails unless the contract lists it. */
function listed(code: number): number {
  expect([code, Object.keys(OPERATIONS.streamEvents.closeCodes)]).toEqual([
    code,
    expect.arrayContaining([String(code)]),
  ]);
  return code;
}

/** An open stream, and its frames. */
async function open(server: TestServer, { after }: { after?: number } = {}) {
  const { stream_url } = await mint(server);
  const socket = new WebSocket(`${server.url}${stream_url}${after === undefined ? '' : `&after=${after}`}`);
  const frames: JobEvent[] = [];
  socket.addEventListener('message', ({ data }) => frames.push(JSON.parse(data as string) as JobEvent));
  const closed = once(socket, 'close').then(([event]) => (event as CloseEvent).code);
  await once(socket, 'open');
  return { socket, frames, closed };
}

const handshake = (target: string, headers = '') =>
  `GET ${target} HTTP/1.1\r\nHost: svc.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n${headers}\r\n`;
const KEY = 'Authorization: Bearer key-of-acme\r\n';
const STREAM = `/v1/jobs/${JOB}/stream`;

/** The answer to a handshake: the status, and the code if it is a refusal. */
async function attempt(server: TestServer, bytes: string) {
  using raw = await RawSocket.open(server.port);
  raw.send(bytes);
  await raw.until(() => raw.text.includes('\r\n\r\n'));
  if (raw.text.startsWith('HTTP/1.1 101'))
    return { status: 101, code: null, headers: {} as Readonly<Record<string, string>> };
  const { status, headers, body } = await raw.answer();
  const { error } = JSON.parse(body) as { error: { code: string; request_id: string } };
  expect(headers['x-request-id']).toBe(error.request_id);
  await raw.untilClosed();
  return { status, code: error.code, headers };
}

let server: TestServer;
const job = livingJob(3);
beforeAll(async () => {
  server = await openServer({ jobs: { tail: job.tail } });
});
afterAll(() => server[Symbol.asyncDispose]());

describe('a stream', () => {
  test('sends the stored history, then new events, and closes with 1000 after `finished`', {
    tags: ['Stream-3', 'Stream-3a', 'Stream-3b'],
  }, async () => {
    const own = livingJob(250);
    await using served = await openServer({ jobs: { tail: own.tail } });
    const { frames, closed } = await open(served);
    await expect.poll(() => frames.length).toBe(250);
    own.add();
    own.finish();
    expect(await closed).toBe(STREAM_CLOSE_CODES.finished);
    expect(frames.map(({ seq }) => seq)).toEqual(Array.from({ length: 252 }, (_, index) => index + 1));
    expect(frames.at(-1)?.kind).toBe('finished');
  });

  test('resumes after the last sequence number that its client states', { tags: ['Stream-4'] }, async () => {
    const { socket, frames } = await open(server, { after: 2 });
    await expect.poll(() => frames.map(({ seq }) => seq)).toEqual([3]);
    socket.close();
  });

  test('a finished stream returns its permit within seconds, even if its client never answers the close frame', async () => {
    const own = livingJob(3);
    await using served = await openServer({ jobs: { tail: own.tail } });
    using raw = await RawSocket.open(served.port);
    raw.send(handshake(STREAM, KEY));
    await expect.poll(() => served.permits.held('stream')).toBe(1);
    own.finish();
    // The WebSocket server itself would wait half a minute for the client's close frame.
    await expect.poll(() => served.permits.held('stream'), { timeout: 10_000 }).toBe(0);
    await raw.untilClosed();
    expect(raw.text).toContain('"kind":"finished"');
    expect(raw.text.endsWith('\x88\x02\x03\xe8')).toBe(true);
  });

  test('a stream that starts after the last event of an ended job closes with 1000 at once', async () => {
    const ended = livingJob(0);
    ended.finish();
    await using served = await openServer({ jobs: { tail: async function* () {} } });
    const { closed, frames } = await open(served, { after: 1 });
    expect(await closed).toBe(STREAM_CLOSE_CODES.finished);
    expect(frames).toEqual([]);
  });

  test('may be opened with the Authorization header instead of a ticket', { tags: ['Stream-1a'] }, async () => {
    expect(await attempt(server, handshake(STREAM, KEY))).toMatchObject({ status: 101 });
  });

  test('a stream that fails closes with 1011, and only the log names the cause', { tags: ['Stream-3c'] }, async () => {
    await using broken = await openServer({
      jobs: {
        tail: () => ({
          [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('secret cause')) }),
        }),
      },
    });
    const { closed } = await open(broken);
    expect(await closed).toBe(STREAM_CLOSE_CODES.failed);
    expect(JSON.stringify(broken.log)).toContain('secret cause');
  });

  test('sends every event of the job even if two hundred streams are open at once', async () => {
    const own = livingJob(10);
    await using served = await openServer({ jobs: { tail: own.tail }, bounds: { connections: 500 } });
    // Only a few streams are opened at a time, because a ticket must be used before it expires, even on a busy machine.
    const streams: Awaited<ReturnType<typeof open>>[] = [];
    while (streams.length < 200) streams.push(...(await Promise.all(Array.from({ length: 20 }, () => open(served)))));
    expect(served.permits.held('stream')).toBe(200);
    own.finish();
    expect(new Set(await Promise.all(streams.map(({ closed }) => closed)))).toEqual(new Set([1000]));
    expect(streams.map(({ frames }) => frames.length)).toEqual(Array(200).fill(11));
  });
});

describe('a ticket for a stream', () => {
  test('opens one stream, and never a second', { tags: ['Endpoints-2'] }, async () => {
    const { ticket, stream_url, expires_in } = await mint(server);
    expect({ stream_url, expires_in }).toEqual({ stream_url: `${STREAM}?ticket=${ticket}`, expires_in: 30 });
    expect(await attempt(server, handshake(stream_url))).toMatchObject({ status: 101 });
    expect(await attempt(server, handshake(stream_url))).toMatchObject({ status: 401, code: 'unauthorized' });
    expect(JSON.stringify(server.log)).not.toContain(ticket);
  });

  test('is refused if it is given twice, and is not used up', async () => {
    const { stream_url, ticket } = await mint(server);
    const twice = await attempt(server, handshake(`${stream_url}&ticket=${ticket}`));
    expect(twice).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(await attempt(server, handshake(stream_url))).toMatchObject({ status: 101 });
  });

  test('is used up even if the service then refuses the stream for lack of capacity', {
    tags: ['Stream-2', 'AUTH-11'],
  }, async () => {
    await using full = await openServer({ permits: { stream: { total: 0, perTenant: 9 } } });
    const { stream_url } = await mint(full);
    const refused = await attempt(full, handshake(stream_url));
    expect(refused).toMatchObject({ status: 503, code: 'capacity_exhausted' });
    expect(refused.headers['retry-after']).toBe('1');
    expect(await attempt(full, handshake(stream_url))).toMatchObject({ status: 401 });
  });

  test('opens only the stream of its own job', { tags: ['Ticket-5'] }, async () => {
    const { ticket } = await mint(server);
    const elsewhere = `/v1/jobs/job_other/stream?ticket=${ticket}`;
    expect(await attempt(server, handshake(elsewhere))).toMatchObject({ status: 401 });
    const detail = await fetch(`${server.url}/v1/jobs/${JOB}?ticket=${(await mint(server)).ticket}`);
    expect(detail.status).toBe(401);
  });

  test('is not used up by a request that is not a handshake', { tags: ['Stream-2a'] }, async () => {
    const { stream_url } = await mint(server);
    expect((await fetch(`${server.url}${stream_url}`)).status).toBe(401);
    expect(await attempt(server, handshake(stream_url))).toMatchObject({ status: 101 });
  });

  test.each([
    [undefined, 201],
    ['{}', 201],
    ['{"a":1}', 400],
    ['[]', 400],
    [`{}${' '.repeat(2000)}`, 413],
  ])(
    'is minted only if the body is empty or {}: the body %j is answered %i',
    { tags: ['Ticket-2'] },
    async (body, status) => {
      const headers = { ...bearer(), ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
      const init = { method: 'POST', headers, ...(body === undefined ? {} : { body }) };
      expect((await fetch(`${server.url}/v1/jobs/${JOB}/stream-ticket`, init)).status).toBe(status);
    },
  );

  test('is minted only for the job’s tenant', { tags: ['Ticket-1'] }, async () => {
    const init = { method: 'POST', headers: bearer(KEY_OF_OTHER) };
    expect((await fetch(`${server.url}/v1/jobs/${JOB}/stream-ticket`, init)).status).toBe(404);
  });
});

describe('a handshake is refused with a plain HTTP answer', { tags: ['Errors-3'] }, () => {
  test.each([
    ['without a credential', handshake(STREAM), 401, 'unauthorized'],
    ['for a foreign job', handshake(STREAM, `Authorization: Bearer ${KEY_OF_OTHER}\r\n`), 404, 'job_not_found'],
    ['with a bad cursor', handshake(`${STREAM}?after=-1`, KEY), 400, 'invalid_request'],
    ['with an unknown parameter', handshake(`${STREAM}?x=1`, KEY), 400, 'invalid_request'],
    [
      'from a page of another origin',
      handshake(STREAM, `${KEY}Origin: https://evil.example\r\n`),
      400,
      'invalid_request',
    ],
    ['of another version', handshake(STREAM, KEY).replace('Version: 13', 'Version: 8'), 400, 'invalid_request'],
    ['without a key', handshake(STREAM, KEY).replace(/Sec-WebSocket-Key.*\r\n/, ''), 400, 'invalid_request'],
    ['with two hosts', handshake(STREAM, `${KEY}Host: b\r\n`), 400, 'invalid_request'],
    ...['a,,b', '', 'chat, chat', 'bearer token=1', 'a b', ','].map((names): [string, string, number, string] => [
      `with the subprotocols "${names}"`,
      handshake(STREAM, `${KEY}Sec-WebSocket-Protocol: ${names}\r\n`),
      400,
      'invalid_request',
    ]),
  ])('%s', async (_name, bytes, status, code) => {
    expect(await attempt(server, bytes)).toMatchObject({ status, code });
  });

  test('and the answer names the WebSocket version that the service speaks', async () => {
    const { headers } = await attempt(server, handshake(STREAM, KEY).replace('Version: 13', 'Version: 8'));
    expect(headers['sec-websocket-version']).toBe('13');
  });

  test.each([
    ['of a faulty list of subprotocols', 'Sec-WebSocket-Protocol: a,,b\r\n', ''],
    ['of a page of another origin', 'Origin: https://evil.example\r\n', ''],
    ['of an unknown version', '', 'Sec-WebSocket-Version: 13\r\n'],
    ['of a malformed key', '', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'],
    ['the Connection header does not name it', '', 'Connection: Upgrade\r\n'],
    ['it is HTTP/1.0', '', ' HTTP/1.1'],
    ['it announces a body', 'Content-Length: 2\r\n', ''],
    ['it announces a body in chunks', 'Transfer-Encoding: chunked\r\n', ''],
  ])('without using up its ticket, because %s', { tags: ['Stream-2a'] }, async (_name, more, without) => {
    const { stream_url } = await mint(server);
    const faulty = handshake(stream_url, more).replace(without, without === ' HTTP/1.1' ? ' HTTP/1.0' : '');
    // A request that is not a handshake is answered like a plain request, and its connection is kept.
    using raw = await RawSocket.open(server.port);
    expect([400, 401]).toContain((await raw.send(faulty).answer()).status);
    expect(await attempt(server, handshake(stream_url))).toMatchObject({ status: 101 });
    expect(await attempt(server, handshake(stream_url))).toMatchObject({ status: 401 });
  });

  test('a handshake from a page is refused unless the operator allows the page’s origin', {
    tags: ['Authentication-7', 'Authentication-7a'],
  }, async () => {
    await using allowing = await openServer({ allowedOrigins: ['https://app.example'] });
    const from = (origin: string) => attempt(allowing, handshake(STREAM, `${KEY}Origin: ${origin}\r\n`));
    for (const origin of ['https://app.example', 'HTTPS://APP.example', 'http://svc.example']) {
      expect([origin, (await from(origin)).status]).toEqual([origin, 101]);
    }
    for (const origin of ['http://app.example', 'https://app.example:8443', 'https://sub.app.example', 'null', '']) {
      expect([origin, (await from(origin)).status]).toEqual([origin, 400]);
    }
  });

  test('a handshake from a page with the service’s own origin is accepted', async () => {
    expect(await attempt(server, handshake(STREAM, `${KEY}Origin: http://svc.example\r\n`))).toMatchObject({
      status: 101,
    });
  });

  test('a handshake without the scope to read is refused', async () => {
    await using scoped = await openServer({ credentials: [credentialWith('submitter', ['jobs:submit'])] });
    const bytes = handshake(STREAM, 'Authorization: Bearer submitter\r\n');
    expect(await attempt(scoped, bytes)).toMatchObject({ status: 403, code: 'insufficient_scope' });
  });
});

test('the answer that opens a stream states the request budget', async () => {
  using raw = await RawSocket.open(server.port);
  raw.send(handshake(STREAM, `${KEY}Sec-WebSocket-Protocol: svc, other\r\n`));
  await raw.until(() => raw.text.includes('\r\n\r\n'));
  const [head = ''] = raw.text.split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 101 /);
  const requestId = /\r\nx-request-id: (req_\S+)/.exec(head)?.[1];
  expect(head).toMatch(/\r\nratelimit-limit: \d+\r\nratelimit-remaining: \d+\r\nratelimit-reset: \d+/);
  expect(head).toMatch(/\r\nsec-websocket-protocol: svc\r\n/i);
  raw.socket.end();
  await expect.poll(() => server.log.find((line) => line['request_id'] === requestId)).toMatchObject({ status: 101 });
});

describe('a stream ends before its job', () => {
  test('a stopping service closes streams with 1012, and opens no new streams', { tags: ['Stream-3c'] }, async () => {
    await using stopping = await openServer({ jobs: { tail: livingJob(1).tail } });
    const { stream_url } = await mint(stopping);
    const { closed } = await open(stopping);
    stopping.stop();
    expect(await closed).toBe(STREAM_CLOSE_CODES.restarting);
    expect(await attempt(stopping, handshake(stream_url))).toMatchObject({ status: 503, code: 'shutting_down' });
    expect(stopping.permits.held('stream')).toBe(0);
  });

  test('a stream closes with 1013 if its tenant has the most streams and another tenant needs a place', {
    tags: ['Stream-3c', 'Errors-18a', 'CROWD-01'],
  }, async () => {
    const own = livingJob(1);
    const jobs: Partial<Jobs> = {
      tail: own.tail,
      replay: async () => ({ isEmpty: true, body: bodyOf(new LongJson('{}')) }),
    };
    await using full = await openServer({ jobs, permits: { stream: { total: 2, perTenant: 2 } } });
    const [first, second] = [await open(full), await open(full)];
    const plain = await fetch(`${full.url}${STREAM}`, { headers: bearer(KEY_OF_OTHER) });
    expect([plain.status, full.permits.held('stream')]).toEqual([400, 2]);
    expect(await attempt(full, handshake(STREAM, 'Authorization: Bearer key-of-other\r\n'))).toMatchObject({
      status: 101,
    });
    expect(await first.closed).toBe(STREAM_CLOSE_CODES.gaveWay);
    expect(second.socket.readyState).toBe(WebSocket.OPEN);
    second.socket.close();
    await expect.poll(() => [own.state.following, full.permits.held('stream')]).toEqual([0, 0]);
  });

  test('a stream closes with 1001 when its connection reaches its lifetime', {
    tags: ['Stream-3c', 'Limits-18'],
  }, async () => {
    // This lifetime is long enough for a busy machine to open the stream.
    const bounds = { connectionMilliseconds: 3000, checkMilliseconds: 20 };
    await using old = await openServer({ bounds, jobs: { tail: livingJob(1).tail } });
    expect(await (await open(old)).closed).toBe(STREAM_CLOSE_CODES.lifetimeReached);
  });

  test('a stream closes with 4401 when its credential ends, even if a ticket opened it', {
    tags: ['Stream-3c'],
  }, async () => {
    let stands = true;
    const credential: CredentialKind = { ...credentialWith('key-of-acme', ['jobs:read']), stands: async () => stands };
    await using revoking = await openServer({ credentials: [credential], jobs: { tail: livingJob(1).tail } });
    const { closed } = await open(revoking);
    const { stream_url } = await mint(revoking);
    stands = false;
    expect(await closed).toBe(STREAM_CLOSE_CODES.credentialEnded);
    expect(await attempt(revoking, handshake(stream_url))).toMatchObject({ status: 401 });
  });

  test('a stream ends when its reader takes nothing, and then the service stops following the job', {
    tags: ['Stream-3c'],
  }, async () => {
    const flood = livingJob(0);
    for (let index = 0; index < 1000; index += 1) flood.add('stdout', { text: 'x'.repeat(16_384) });
    const bounds = { writeProgressMilliseconds: 200, checkMilliseconds: 20 };
    await using served = await openServer({ bounds, jobs: { tail: flood.tail } });
    using raw = await RawSocket.open(served.port);
    raw.socket.pause();
    raw.send(handshake(STREAM, KEY));
    await expect.poll(() => flood.state.begun).toBe(1);
    await expect.poll(() => [flood.state.following, served.permits.held('stream')]).toEqual([0, 0]);
  });

  test('a stream ends when its client resets the connection', async () => {
    const own = livingJob(1);
    await using served = await openServer({ jobs: { tail: own.tail } });
    using raw = await RawSocket.open(served.port);
    raw.send(handshake(STREAM, KEY));
    await expect.poll(() => own.state.following).toBe(1);
    raw.socket.resetAndDestroy();
    await expect.poll(() => [own.state.following, served.permits.held('stream')]).toEqual([0, 0]);
  });
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** How many bytes are in buffers that are still referenced. Garbage does not count. */
function bytesInUse(): number {
  // The first collection may leave buffers to be swept later on another thread. The second collection waits for that sweep.
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

/** Resolves when the written bytes are on their way, or can no longer be sent. */
async function takenOrRefused(socket: Socket): Promise<void> {
  await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => undefined);
}

describe('a client that breaks the protocol gets the close code for its fault', {
  tags: ['E-21', 'E-22', 'Stream-3d'],
}, () => {
  /** A frame from a client, masked with zeros. */
  const frame = (first: number, payload: string) =>
    Buffer.concat([Buffer.from([first, 0x80 | payload.length, 0, 0, 0, 0]), Buffer.from(payload)]);
  const closing = (code: number, ...reason: number[]) =>
    Buffer.from([0x88, 0x80 | (2 + reason.length), 0, 0, 0, 0, code >> 8, code & 0xff, ...reason]);
  const hugeHeader = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]);

  test.each([
    ['sends a message', frame(0x81, 'hello'), 1008],
    ['announces 64 MiB', hugeHeader, 1009],
    [
      'sends endless fragments',
      Buffer.concat(Array.from({ length: 5000 }, (_, index) => frame(index === 0 ? 1 : 0, 'a'))),
      1009,
    ],
    ['does not mask', Buffer.from([0x81, 0x01, 0x61]), 1002],
    ['sets reserved bits', frame(0xc1, 'a'), 1002],
    ['sends an unknown opcode', frame(0x83, 'a'), 1002],
    ['fragments a ping', frame(0x09, 'a'), 1002],
    ['pings with more than a ping may hold', Buffer.from([0x89, 0xfe, 0, 126, 0, 0, 0, 0]), 1002],
    ['continues what it never began', frame(0x80, 'a'), 1002],
    ['sends text that is not UTF-8', Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0xff]), 1007],
    ['closes with half a code', frame(0x88, 'a'), 1002],
    ['closes with 1005, which no frame may carry', closing(1005), 1002],
    ['closes with 999', closing(999), 1002],
    ['closes with a reason that is not UTF-8', closing(1000, 0xff), 1007],
  ])('%s', async (_name, bytes, code) => {
    using raw = await RawSocket.open(server.port);
    raw.send(handshake(STREAM, KEY));
    await raw.until(() => raw.text.includes('"seq":3'));
    raw.send(bytes);
    await raw.untilClosed();
    const close = Buffer.from([0x88, 0x02, listed(code) >> 8, code & 0xff]).toString('latin1');
    expect(raw.text.endsWith(close)).toBe(true);
    await expect.poll(() => job.state.following).toBe(0);
  });

  test.each([
    ['closes without a code', frame(0x88, ''), '\x88\x00'],
    ['closes with 1000', closing(1000), '\x88\x02\x03\xe8'],
    ['closes with a code of its own', closing(4999), '\x88\x02\x13\x87'],
  ])('the service answers a client that %s with the same close frame', async (_name, bytes, answer) => {
    using raw = await RawSocket.open(server.port);
    raw.send(handshake(STREAM, KEY));
    await raw.until(() => raw.text.includes('"seq":3'));
    raw.send(bytes);
    await raw.untilClosed();
    expect(raw.text.endsWith(answer)).toBe(true);
    await expect.poll(() => [job.state.following, server.permits.held('stream')]).toEqual([0, 0]);
  });

  test('the service stops following the job when the client ends its side of the connection', async () => {
    using raw = await RawSocket.open(server.port);
    raw.send(handshake(STREAM, KEY));
    await raw.until(() => raw.text.includes('"seq":3'));
    raw.socket.end();
    await raw.untilClosed();
    await expect.poll(() => [job.state.following, server.permits.held('stream')]).toEqual([0, 0]);
  });

  test('no extension is negotiated, so the service never decompresses a frame', async () => {
    using raw = await RawSocket.open(server.port);
    raw.send(handshake(STREAM, `${KEY}Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n`));
    await raw.until(() => raw.text.includes('"seq":3'));
    expect(raw.text.toLowerCase()).not.toContain('sec-websocket-extensions');
  });

  test.each([
    ['fragments of one byte', Buffer.concat([frame(0x01, 'a'), Buffer.alloc(700_000, frame(0x00, 'a'))]), 3],
    ['a frame of 64 MiB', Buffer.concat([hugeHeader, Buffer.alloc(1024 * 1024)]), 4],
  ])('endless %s from many clients at once use up no memory', async (_name, bytes, times) => {
    const before = bytesInUse();
    let isOver = false;
    const clients = Array.from({ length: 16 }, async () => {
      using raw = await RawSocket.open(server.port);
      raw.send(handshake(STREAM, KEY));
      await raw.until(() => raw.text.includes('"seq":3'));
      for (let sent = 0; sent < times && !raw.isClosed; sent++) {
        if (!raw.socket.write(bytes)) await takenOrRefused(raw.socket);
      }
      await raw.untilClosed();
    });
    void Promise.allSettled(clients).then(() => {
      isOver = true;
    });
    let most = 0;
    while (!isOver) {
      await delay(20);
      most = Math.max(most, bytesInUse() - before);
    }
    await Promise.all(clients);
    // Sixteen clients hold less than one MiB each.
    expect(most).toBeLessThan(16 * 1024 * 1024);
    await expect.poll(() => [job.state.following, server.permits.held('stream')]).toEqual([0, 0]);
  });

  test('a flood of pings gets a bounded number of answers and uses up no memory', { tags: ['E-22'] }, async () => {
    using raw = await RawSocket.open(server.port);
    raw.send(handshake(STREAM, KEY));
    await raw.until(() => raw.text.includes('"seq":3'));
    raw.socket.pause();
    const before = process.memoryUsage().arrayBuffers;
    const pings = Buffer.concat(Array.from({ length: 10_000 }, () => frame(0x89, 'x'.repeat(100))));
    for (let index = 0; index < 20; index += 1) {
      if (!raw.socket.write(pings)) await Promise.race([once(raw.socket, 'drain'), delay(200)]);
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
  });
});

test('frames in the same packet as the handshake are read', async () => {
  const living = livingJob(1);
  await using server = await openServer({ jobs: { tail: living.tail } });
  const maskedPing = Buffer.from([0x89, 0x80, 0, 0, 0, 0]);
  using raw = await RawSocket.open(server.port);
  raw.send(Buffer.concat([Buffer.from(handshake(STREAM, KEY)), maskedPing]));
  const pong = '\x8a\x00';
  await raw.until(() => raw.text.includes(pong));
  expect(raw.text).toMatch(/^HTTP\/1\.1 101 /);
  living.finish();
});
