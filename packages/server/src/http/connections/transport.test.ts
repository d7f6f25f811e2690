/**
 * The bounds on connections: heads, bodies, deadlines, places and the stop. Byte-exact requests that must be refused
 * are rows in test/contract/malformed-requests.test.ts.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { bodyBytesMax } from '@vouchbox/protocol';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { bodyOf, LongJson } from '../../job/body.ts';
import { headerLinesMax } from '../request/head.ts';
import { JOB, KEY_OF_ACME, openServer, RESULT, resultOf, type TestServer } from '../server.fixture.ts';
import { type RawAnswer, RawSocket } from '../socket.fixture.ts';

const HOST = 'Host: svc.example\r\n';
const KEY = `Authorization: Bearer ${KEY_OF_ACME}\r\n`;
const JSON_TYPE = 'Content-Type: application/json\r\n';
const NEXT = `GET /v1/whoami HTTP/1.1\r\n${HOST}${KEY}\r\n`;
const POST = `POST /v1/jobs HTTP/1.1\r\n${HOST}${KEY}${JSON_TYPE}`;
const get = (target: string, headers = HOST) => `GET ${target} HTTP/1.1\r\n${headers}\r\n`;
const chunked = (coding: string, body = '2\r\n{}\r\n0\r\n\r\n') => `${POST}Transfer-Encoding: ${coding}\r\n\r\n${body}`;
const sized = (length: string, body = '{}') => `${POST}Content-Length: ${length}\r\n\r\n${body}`;

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Expects the members that every refusal must have, whichever layer refuses. */
function expectRefusal(answer: RawAnswer | undefined, status: number, code: string): void {
  const { error } = JSON.parse(answer?.body ?? '{}') as { error: { code: string; request_id: string } };
  expect({ status: answer?.status, code: error.code }).toEqual({ status, code });
  expect(answer?.headers['x-request-id']).toBe(error.request_id);
  expect(answer?.headers['content-type']).toBe('application/json');
  expect(answer?.headers['x-content-type-options']).toBe('nosniff');
}

/** Every whole answer that came before the connection was closed. */
async function exchange(bytes: string): Promise<RawAnswer[]> {
  using raw = await RawSocket.open(server.port);
  return await raw.send(bytes).untilClosed();
}

describe('the head of a request', () => {
  test('may have as many lines as the bound allows, and is answered 431 if it has one line more', async () => {
    using raw = await RawSocket.open(server.port);
    raw.send(get('/healthz', HOST + 'a: b\r\n'.repeat(headerLinesMax - 1)));
    expect((await raw.answer()).status).toBe(200);
    const [answer] = await exchange(get('/healthz', HOST + 'a: b\r\n'.repeat(headerLinesMax)));
    expectRefusal(answer, 431, 'head_too_large');
  });

  test.each([
    ['a target that is too long', `HEAD /${'a'.repeat(17_000)} HTTP/1.1\r\n${HOST}\r\n`, 400],
    ['lines that are too long', `HEAD / HTTP/1.1\r\n${HOST}a: ${'b'.repeat(17_000)}\r\n\r\n`, 431],
    ['a line that is not HTTP', `HEAD / HTTP/1.1\r\n${HOST}a b\r\n\r\n`, 400],
  ])(
    'gets no body in its refusal if its method is HEAD: %s',
    { tags: ['Endpoints-1a'] },
    async (_name, bytes, status) => {
      using raw = await RawSocket.open(server.port);
      await raw.send(bytes).untilClosed();
      const [head, body] = raw.text.split('\r\n\r\n');
      expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*content-length: [1-9]`));
      expect(body).toBe('');
    },
  );
});

describe('a request target that is not a path', () => {
  const expectStatus = async (bytes: string, status: number) => {
    using raw = await RawSocket.open(server.port);
    const answer = await raw.send(bytes).answer();
    expect(answer.status).toBe(status);
    return answer;
  };

  test('may be an absolute URL with any host', async () => {
    // An address without a path means the page at the root.
    for (const target of [
      'http://svc.example/healthz',
      'HTTPS://other.example:8080/healthz?x=1',
      'http://svc.example',
    ]) {
      await expectStatus(get(target), 200);
    }
    await expectStatus(get('http://svc.example/nowhere'), 404);
    await expectStatus(get('http://svc.example/v1/jobs?limit=0', HOST + KEY), 400);
    await expectStatus(get(`http://svc.example/v1/jobs/${JOB}`, HOST + KEY), 200);
  });

  test('may be `*` in an OPTIONS request, which lists every method and needs no credential', {
    tags: ['Endpoints-1a'],
  }, async () => {
    const answer = await expectStatus(`OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, 204);
    expect(answer.headers['allow']).toBe('GET, HEAD, POST, PUT, DELETE, OPTIONS');
  });
});

describe('a body', () => {
  test('that is as large as the bound is read, and a body one byte larger is answered 413', {
    tags: ['Limits-7', 'BODY-08'],
  }, async () => {
    const fill = (bytes: number) => `{"a":"${'b'.repeat(bytes - 8)}"}`;
    const send = async (framing: string, body: string) => {
      using raw = await RawSocket.open(server.port);
      raw.send(`${POST}${framing}\r\n\r\n`, body);
      return (await raw.answer()).status;
    };
    const asChunk = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const [fits, over] = [fill(bodyBytesMax), fill(bodyBytesMax + 1)];
    expect(await send(`Content-Length: ${fits.length}`, fits)).toBe(201);
    expect(await send('Transfer-Encoding: chunked', asChunk(fits))).toBe(201);
    expect(await send(`Content-Length: ${over.length}`, over)).toBe(413);
    expect(await send('Transfer-Encoding: chunked', asChunk(over))).toBe(413);
    expect(server.permits.held('body')).toBe(0);
  });

  test('gets a whole refusal even if the client is still sending it', async () => {
    const response = await fetch(`${server.url}/v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: 'x'.repeat(8 * 1024 * 1024),
    });
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ error: { code: 'unauthorized' } });
  });
});

describe('deadlines', () => {
  const SHORT = { checkMilliseconds: 20 };

  test.each([
    ['says nothing', ''],
    ['never ends its head', 'GET /healthz HTTP/1.1\r\nHo'],
  ])('a connection that %s is closed without an answer', async (_name, bytes) => {
    await using slow = await openServer({ bounds: { ...SHORT, headMilliseconds: 100 } });
    using raw = await RawSocket.open(slow.port);
    if (bytes !== '') raw.send(bytes);
    expect(await raw.untilClosed()).toEqual([]);
  });

  test('each request on a connection has its own deadline for its head', {
    tags: ['Limits-17', 'Limits-24'],
  }, async () => {
    // Long enough for the first connection on a busy machine.
    await using slow = await openServer({ bounds: { ...SHORT, headMilliseconds: 2000 } });
    using raw = await RawSocket.open(slow.port);
    await raw.send(get('/healthz')).answer();
    raw.send('GET /healthz HTTP/1.1\r\n');
    expect(await raw.untilClosed()).toHaveLength(1);
  });

  test('a body that does not arrive in time is answered 408 body_timeout, and its permit is free again', async () => {
    await using slow = await openServer({ bounds: { ...SHORT, bodyMilliseconds: 100 } });
    using raw = await RawSocket.open(slow.port);
    expectRefusal(await raw.send(`${POST}Content-Length: 9\r\n\r\n{`).answer(), 408, 'body_timeout');
    expect(slow.permits.held('body')).toBe(0);
    expect((await raw.untilClosed())[0]?.headers['connection']).toBe('close');
  });

  test('a connection whose reader takes nothing is reset, and its permit is free again', {
    tags: ['Transfer-3', 'Transfer-4', 'E-18'],
  }, async () => {
    const stdout = 'x'.repeat(32 * 1024 * 1024);
    const asked = Promise.withResolvers<number>();
    await using slow = await openServer({
      bounds: { ...SHORT, writeProgressMilliseconds: 200 },
      jobs: {
        result: async () => {
          asked.resolve(slow.permits.held('response'));
          return resultOf({ ...RESULT, stdout });
        },
      },
    });
    using raw = await RawSocket.open(slow.port);
    raw.socket.pause();
    const failure = new Promise<NodeJS.ErrnoException>((resolve) => raw.socket.once('error', resolve));
    raw.send(get(`/v1/jobs/${JOB}/result`, HOST + KEY));
    expect(await asked.promise).toBe(1);
    await expect.poll(() => slow.permits.held('response')).toBe(0);
    raw.socket.resume();
    expect((await failure).code).toBe('ECONNRESET');
    // Fewer bytes than declared have arrived, so they contain no whole answer.
    expect(await raw.untilClosed()).toEqual([]);
    expect(raw.text).toContain('content-length: 335');
  });

  test('a connection ends when its lifetime is over, whatever is active on it', async () => {
    await using old = await openServer({
      bounds: { ...SHORT, connectionMilliseconds: 150 },
      jobs: { result: (_caller, _id, { signal }) => delay(60_000, resultOf(RESULT), { signal }) },
    });
    using waiting = await RawSocket.open(old.port);
    using idle = await RawSocket.open(old.port);
    waiting.send(get(`/v1/jobs/${JOB}/result?wait_seconds=60`, HOST + KEY));
    await Promise.all([waiting.untilClosed(), idle.untilClosed()]);
    await expect.poll(() => old.permits.held('wait')).toBe(0);
  });
});

describe('random bytes from a client', () => {
  const requests = [sized('2'), chunked('chunked'), get('/v1/jobs?limit=5&status=queued', HOST + KEY), NEXT];
  const bent = fc
    .tuple(fc.constantFrom(...requests), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }))
    .map(([request, changes]) => {
      const bytes = Buffer.from(request, 'latin1');
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
      return bytes;
    });

  test('never cause an error in the service, and every answer has a request id', async () => {
    await fc.assert(
      fc.asyncProperty(bent, async (bytes) => {
        using raw = await RawSocket.open(server.port);
        raw.send(bytes);
        // An incomplete request ends here, with its answer.
        raw.socket.end();
        for (const answer of await raw.untilClosed()) {
          expect(answer.status).toBeLessThan(500);
          expect(answer.headers['x-request-id']).toMatch(/^req_/);
        }
      }),
      { numRuns: 300, seed: inject('propertySeed') },
    );
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(server.permits.held('body')).toBe(0);
  });
});

describe('connections', () => {
  test('callers are accepted up to the bound, the next caller is refused at once, and a freed place is used again', async () => {
    await using small = await openServer({ bounds: { connections: 3 } });
    const open = await Promise.all([1, 2, 3].map(() => RawSocket.open(small.port)));
    for (const raw of open) expect((await raw.send(get('/v1/whoami', HOST + KEY)).answer()).status).toBe(200);
    using refused = await RawSocket.open(small.port);
    expect(await refused.untilClosed()).toEqual([]);
    for (const raw of open) raw[Symbol.dispose]();
    await expect
      .poll(async () => {
        using next = await RawSocket.open(small.port);
        return await next
          .send(get('/healthz'))
          .answer()
          .then(
            ({ status }) => status,
            () => 'closed',
          );
      })
      .toBe(200);
  });

  test('garbage behind an unanswered request closes the connection and is not answered', async () => {
    await using waiting = await openServer({
      jobs: { result: (_caller, _id, { signal }) => delay(60_000, resultOf(RESULT), { signal }) },
    });
    using raw = await RawSocket.open(waiting.port);
    raw.send(get(`/v1/jobs/${JOB}/result?wait_seconds=60`, HOST + KEY));
    await expect.poll(() => waiting.permits.held('wait')).toBe(1);
    raw.send('\0\0\0\r\n\r\n');
    expect(await raw.untilClosed()).toEqual([]);
    await expect.poll(() => waiting.permits.held('wait')).toBe(0);
  });

  test('a client that closes only its sending side still gets its answers', async () => {
    using raw = await RawSocket.open(server.port);
    raw.send(get('/healthz'));
    raw.socket.end();
    expect((await raw.untilClosed())[0]?.status).toBe(200);
  });

  test.each([
    ['in its head', 'GET /healthz HTTP/1.1\r\nHo'],
    ['in its body', `${POST}Content-Length: 100\r\n\r\n{`],
    ['in its wait', get(`/v1/jobs/${JOB}/result?wait_seconds=60`, HOST + KEY)],
    [
      'with answers queued',
      get(`/v1/jobs/${JOB}/result?wait_seconds=60`, HOST + KEY) + get(`/v1/jobs/${JOB}`, HOST + KEY),
    ],
    ['in a transfer', get(`/v1/jobs/${JOB}/replay`, HOST + KEY)],
  ])('a client that resets %s leaves no permit behind', async (_name, bytes) => {
    const page = { events: [], next_cursor: null, padding: 'x'.repeat(8 * 1024 * 1024) };
    await using reset = await openServer({
      jobs: {
        result: (_caller, _id, { signal }) => delay(60_000, resultOf(RESULT), { signal }),
        replay: async () => ({ isEmpty: false, body: bodyOf(new LongJson(JSON.stringify(page))) }),
      },
    });
    const sockets = await Promise.all(Array.from({ length: 16 }, () => RawSocket.open(reset.port)));
    for (const raw of sockets) {
      raw.socket.pause();
      raw.send(bytes);
    }
    using probe = await RawSocket.open(reset.port);
    expect((await probe.send(get('/healthz')).answer()).status).toBe(200);
    for (const raw of sockets) raw[Symbol.dispose]();
    const held = () => (['body', 'wait', 'stream', 'response'] as const).map((kind) => reset.permits.held(kind));
    await expect.poll(held).toEqual([0, 0, 0, 0]);
  });
});

describe('a stopping service', () => {
  test('ends a wait with 503 shutting_down, and sends no part of a result', { tags: ['GetResult-5'] }, async () => {
    await using stopping = await openServer({
      jobs: { result: (_caller, _id, { signal }) => delay(60_000, resultOf(RESULT), { signal }) },
    });
    using raw = await RawSocket.open(stopping.port);
    raw.send(get(`/v1/jobs/${JOB}/result?wait_seconds=60`, HOST + KEY));
    await expect.poll(() => stopping.permits.held('wait')).toBe(1);
    stopping.stop();
    const answer = await raw.answer();
    expectRefusal(answer, 503, 'shutting_down');
    expect(answer.headers['retry-after']).toMatch(/^\d+$/);
  });

  test('refuses new work, answers reads, and closes each connection after its answer', {
    tags: ['Errors-19'],
  }, async () => {
    await using stopping = await openServer();
    stopping.stop();
    const ask = async (bytes: string) => {
      using raw = await RawSocket.open(stopping.port);
      return (await raw.send(bytes).untilClosed())[0];
    };
    expectRefusal(await ask(sized('2')), 503, 'shutting_down');
    expectRefusal(await ask(get(`/v1/jobs/${JOB}/result?wait_seconds=1`, HOST + KEY)), 503, 'shutting_down');
    expect((await ask(get(`/v1/jobs/${JOB}`, HOST + KEY)))?.status).toBe(200);
  });
});
