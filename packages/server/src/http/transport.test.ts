import { setTimeout as delay } from 'node:timers/promises';
import { bodyBytesMax } from '@svc/protocol';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { bodyOf } from '../job/body.ts';
import { headerLinesMax } from './head.ts';
import { type Door, JOB, KEY_OF_ACME, openDoor, RESULT, resultOf } from './test-door.ts';
import { type RawAnswer, RawSocket } from './test-socket.ts';

const HOST = 'Host: svc.example\r\n';
const KEY = `Authorization: Bearer ${KEY_OF_ACME}\r\n`;
const JSON_TYPE = 'Content-Type: application/json\r\n';
const NEXT = `GET /v1/whoami HTTP/1.1\r\n${HOST}${KEY}\r\n`;
const POST = `POST /v1/jobs HTTP/1.1\r\n${HOST}${KEY}${JSON_TYPE}`;
const get = (target: string, headers = HOST) => `GET ${target} HTTP/1.1\r\n${headers}\r\n`;
const chunked = (coding: string, body = '2\r\n{}\r\n0\r\n\r\n') => `${POST}Transfer-Encoding: ${coding}\r\n\r\n${body}`;
const sized = (length: string, body = '{}') => `${POST}Content-Length: ${length}\r\n\r\n${body}`;

let door: Door;
beforeAll(async () => {
  door = await openDoor();
});
afterAll(() => door[Symbol.asyncDispose]());

/** What a refusal must be, whoever refused. */
function expectRefusal(answer: RawAnswer | undefined, status: number, code: string): void {
  const { error } = JSON.parse(answer?.body ?? '{}') as { error: { code: string; request_id: string } };
  expect({ status: answer?.status, code: error.code }).toEqual({ status, code });
  expect(answer?.headers['x-request-id']).toBe(error.request_id);
  expect(answer?.headers['content-type']).toBe('application/json');
  expect(answer?.headers['x-content-type-options']).toBe('nosniff');
}

async function exchange(bytes: string): Promise<RawAnswer[]> {
  using raw = await RawSocket.open(door.port);
  raw.send(bytes);
  return await raw.untilClosed();
}

describe('a request that two readers could read differently is refused, and nothing behind it is executed', () => {
  test.each([
    ['two hosts', get('/healthz', HOST + HOST)],
    ['no host', get('/healthz', '')],
    ['an empty host', get('/healthz', 'Host:\r\n')],
    ['a host with a path', get('/healthz', 'Host: a/b\r\n')],
    ['a host with user information', get('/healthz', 'Host: me@a\r\n')],
    ['HTTP/0.9', 'GET /healthz\r\n\r\n'],
    ['HTTP/2.0', `GET /healthz HTTP/2.0\r\n${HOST}\r\n`],
    ['HTTP/1.2', `GET /healthz HTTP/1.2\r\n${HOST}\r\n`],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'.padEnd(64, 'a')],
    ['a length before a coding', sized('4\r\nTransfer-Encoding: chunked', '0\r\n\r\n')],
    ['a coding before a length', chunked('chunked\r\nContent-Length: 4', '0\r\n\r\n')],
    ['the same length twice', sized('2\r\nContent-Length: 2')],
    ['two lengths', sized('2\r\nContent-Length: 3')],
    ['a list of lengths', sized('2, 2')],
    ['a length with a plus', sized('+2')],
    ['a negative length', sized('-1')],
    ['a hexadecimal length', sized('0x2')],
    ['an endless length', sized('9'.repeat(30))],
    ['an empty length', sized('')],
    ['a space before the colon', `${POST}Content-Length : 2\r\n\r\n{}`],
    ['a coding under chunked', chunked('gzip, chunked')],
    ['identity under chunked', chunked('identity, chunked')],
    ['chunked that is not the last', chunked('chunked, gzip')],
    ['an unknown coding', chunked('xchunked')],
    ['two codings', chunked('chunked\r\nTransfer-Encoding: chunked')],
    ['a coding in HTTP/1.0', chunked('chunked').replace('HTTP/1.1', 'HTTP/1.0')],
    ['a chunk size that is none', chunked('chunked', 'zz\r\n{}\r\n0\r\n\r\n')],
    ['a bare LF in the chunks', chunked('chunked', '2\n{}\n0\n\n')],
    ['a folded header', get('/healthz', `${HOST}X: a\r\n b\r\n`)],
    ['bare LF', 'GET /healthz HTTP/1.1\nHost: a\n\n'],
    ['bare CR', get('/healthz', `${HOST}X: a\rb\r\n`)],
    ['NUL', get('/healthz', `${HOST}X: a\0b\r\n`)],
    ['a space in a name', get('/healthz', `${HOST}X Y: a\r\n`)],
    ['an empty name', get('/healthz', `${HOST}: a\r\n`)],
    ['two credentials', get('/v1/whoami', HOST + KEY + KEY)],
    ['two idempotency keys', sized('2\r\nIdempotency-Key: a\r\nIdempotency-Key: b')],
    ['an address of another scheme as target', get('ftp://svc.example/healthz')],
    ['an address with user information as target', get('http://user@svc.example/healthz')],
    ['an address with a host that is none as target', get('http://a b/healthz')],
    ['a whole address as target and no host', 'GET http://svc.example/healthz HTTP/1.1\r\n\r\n'],
    ['an authority as target', get('svc.example:80')],
    ['an asterisk as target', get('*')],
    ['a fragment in the target', get('/healthz#x')],
    ['bytes outside ASCII in the target', get('/v1/jobs/\xe9')],
    ['a method that does not exist', `FROB /healthz HTTP/1.1\r\n${HOST}\r\n`],
    ['a method in lower case', `get /healthz HTTP/1.1\r\n${HOST}\r\n`],
    ['a target of 20 KB', get(`/${'a'.repeat(20_000)}`)],
  ])('%s', async (_name, bytes) => {
    const before = door.submissions.length;
    const answers = await exchange(bytes + NEXT);
    expect(answers).toHaveLength(1);
    expectRefusal(answers[0], 400, 'invalid_request');
    expect(answers[0]?.headers['connection']).toBe('close');
    expect(door.submissions).toHaveLength(before);
  });

  test.each([
    ['a header of 20 KB', `X: ${'a'.repeat(20_000)}\r\n`],
    ['2,000 names', Array.from({ length: 2000 }, (_, index) => `a${index}:\r\n`).join('')],
    ['one header line too many', 'a: b\r\n'.repeat(headerLinesMax)],
  ])('%s is answered 431', async (_name, headers) => {
    const answers = await exchange(get('/healthz', HOST + headers) + NEXT);
    expect(answers).toHaveLength(1);
    expectRefusal(answers[0], 431, 'head_too_large');
  });

  test('as many header lines as there may be are read', async () => {
    using raw = await RawSocket.open(door.port);
    raw.send(get('/healthz', HOST + 'a: b\r\n'.repeat(headerLinesMax - 1)));
    expect((await raw.answer()).status).toBe(200);
  });

  test('chunk extensions of 20 KB are answered 413', async () => {
    const [answer] = await exchange(chunked('chunked', `2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`));
    expectRefusal(answer, 413, 'payload_too_large');
  });

  test('CONNECT is answered, not just closed', async () => {
    const [answer] = await exchange(`CONNECT svc.example:80 HTTP/1.1\r\n${HOST}\r\n`);
    expectRefusal(answer, 405, 'method_not_allowed');
    expect(answer?.headers['allow']).toContain('GET');
  });
});

describe('what a server may ignore has no effect', () => {
  const expectStatus = async (bytes: string, status: number) => {
    using raw = await RawSocket.open(door.port);
    const answer = await raw.send(bytes).answer();
    expect(answer.status).toBe(status);
    return answer;
  };

  test.each(['TRACE', 'PROPFIND', 'QUERY', 'PURGE', 'PUT'])('%s is answered 405 with Allow', async (method) => {
    const answer = await expectStatus(`${method} /healthz HTTP/1.1\r\n${HOST}Content-Length: 0\r\n\r\n`, 405);
    expect(answer.headers['allow']).toBe('GET, HEAD, OPTIONS');
  });

  test('headers that would override the method, the host or the tenant', async () => {
    const headers = `${HOST}${KEY}X-HTTP-Method-Override: DELETE\r\nX-Tenant: other\r\nX-Forwarded-Host: evil\r\n`;
    const answer = await expectStatus(get('/v1/whoami', headers), 200);
    expect(JSON.parse(answer.body)).toMatchObject({ tenant: 'acme' });
  });

  test('a whole address as target, whose host is the one that was asked', async () => {
    for (const target of ['http://svc.example/healthz', 'HTTPS://other.example:8080/healthz?x=1']) {
      await expectStatus(get(target), 200);
    }
    await expectStatus(get('http://svc.example'), 404);
    await expectStatus(get('http://svc.example/v1/jobs?limit=0', HOST + KEY), 400);
    await expectStatus(get(`http://svc.example/v1/jobs/${JOB}`, HOST + KEY), 200);
  });

  test('OPTIONS of the whole server, which needs no credential and names every method', async () => {
    const answer = await expectStatus(`OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, 204);
    expect(answer.headers['allow']).toBe('GET, HEAD, POST, DELETE, OPTIONS');
  });

  test('wishes to upgrade to what is not spoken here', async () => {
    for (const protocol of ['h2c', 'websocket', 'TLS/1.0']) {
      await expectStatus(get('/healthz', `${HOST}Connection: upgrade\r\nUpgrade: ${protocol}\r\n`), 200);
    }
  });

  test('headers named like properties of every object', async () => {
    await expectStatus(get('/healthz', `${HOST}__proto__: a\r\nconstructor: b\r\n`), 200);
    expect(({} as Record<string, unknown>)['a']).toBeUndefined();
  });

  test.each([
    ['/%00', 404],
    ['/%2e%2e/healthz', 404],
    ['//healthz', 404],
    ['/%ZZ', 400],
    ['/v1/jobs/%c0%ae', 400],
    ['/v1/jobs/%2e%2e/x', 404],
    ['/v1/jobs/%2e%2e', 404],
    ['/v1/jobs/%252e', 404],
    ['/v1/jobs/a%2fresult', 404],
  ])('the target %s is decoded once and answered %i', async (target, status) => {
    await expectStatus(get(target, HOST + KEY), status);
  });
});

describe('a body that will be refused is refused before it is read', () => {
  const CONTINUE = 'Expect: 100-continue\r\n';

  test('an expectation that is met is met only for who may send the body', async () => {
    using raw = await RawSocket.open(door.port);
    raw.send(`${POST}${CONTINUE}Content-Length: 2\r\n\r\n`);
    await raw.until(() => raw.text === 'HTTP/1.1 100 Continue\r\n\r\n');
    raw.send('{}');
    expect((await raw.answers(2))[1]?.status).toBe(201);
  });

  test.each([
    ['no credential', `POST /v1/jobs HTTP/1.1\r\n${HOST}${JSON_TYPE}${CONTINUE}Content-Length: 2\r\n\r\n`, 401],
    ['too large', `${POST}${CONTINUE}Content-Length: ${bodyBytesMax + 1}\r\n\r\n`, 413],
    ['an encoded one', `${POST}${CONTINUE}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n`, 415],
    ['another expectation', `${POST}Expect: 200-ok\r\nContent-Length: 2\r\n\r\n`, 417],
  ])('%s is answered at once, without 100', async (_name, bytes, status) => {
    using raw = await RawSocket.open(door.port);
    const answer = await raw.send(bytes).answer();
    expect(answer.status).toBe(status);
    expect(answer.headers['connection']).toBe('close');
  });

  test('a body of exactly the bound is read, declared or not; one byte more is answered 413', {
    tags: ['Limits-7', 'BODY-08'],
  }, async () => {
    const fill = (bytes: number) => `{"a":"${'b'.repeat(bytes - 8)}"}`;
    const send = async (framing: string, body: string) => {
      using raw = await RawSocket.open(door.port);
      raw.send(`${POST}${framing}\r\n\r\n`, body);
      return (await raw.answer()).status;
    };
    const asChunk = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const [fits, over] = [fill(bodyBytesMax), fill(bodyBytesMax + 1)];
    expect(await send(`Content-Length: ${fits.length}`, fits)).toBe(201);
    expect(await send('Transfer-Encoding: chunked', asChunk(fits))).toBe(201);
    expect(await send(`Content-Length: ${over.length}`, over)).toBe(413);
    expect(await send('Transfer-Encoding: chunked', asChunk(over))).toBe(413);
    expect(door.permits.held('body')).toBe(0);
  });

  test('an answer to a large body that was refused is read whole by a client that is still sending', async () => {
    const response = await fetch(`${door.url}/v1/jobs`, {
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
    await using slow = await openDoor({ bounds: { ...SHORT, headMilliseconds: 100 } });
    using raw = await RawSocket.open(slow.port);
    if (bytes !== '') raw.send(bytes);
    expect(await raw.untilClosed()).toEqual([]);
  });

  test('the head of a later request has a deadline of its own', { tags: ['Limits-17', 'Limits-24'] }, async () => {
    // Long enough for the first one on a busy machine.
    await using slow = await openDoor({ bounds: { ...SHORT, headMilliseconds: 2000 } });
    using raw = await RawSocket.open(slow.port);
    await raw.send(get('/healthz')).answer();
    raw.send('GET /healthz HTTP/1.1\r\n');
    expect(await raw.untilClosed()).toHaveLength(1);
  });

  test('a body that does not arrive is answered 408 body_timeout, and its permit is free again', async () => {
    await using slow = await openDoor({ bounds: { ...SHORT, bodyMilliseconds: 100 } });
    using raw = await RawSocket.open(slow.port);
    expectRefusal(await raw.send(`${POST}Content-Length: 9\r\n\r\n{`).answer(), 408, 'body_timeout');
    expect(slow.permits.held('body')).toBe(0);
    expect((await raw.untilClosed())[0]?.headers['connection']).toBe('close');
  });

  test('a connection whose reader takes nothing is reset, so that the kernel keeps nothing for it, and its permit is free again', {
    tags: ['Transfer-3', 'Transfer-4', 'E-18'],
  }, async () => {
    const stdout = 'x'.repeat(32 * 1024 * 1024);
    const asked = Promise.withResolvers<number>();
    await using slow = await openDoor({
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
    // What did arrive does not satisfy the declared length: no whole answer is in it.
    expect(await raw.untilClosed()).toEqual([]);
    expect(raw.text).toContain('content-length: 335');
  });

  test('a connection ends with its lifetime, whatever it is doing', async () => {
    await using old = await openDoor({
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

describe('whatever bytes come', () => {
  const requests = [sized('2'), chunked('chunked'), get('/v1/jobs?limit=5&status=queued', HOST + KEY), NEXT];
  const bent = fc
    .tuple(fc.constantFrom(...requests), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }))
    .map(([request, changes]) => {
      const bytes = Buffer.from(request, 'latin1');
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
      return bytes;
    });

  test('each answer is a success or a refusal of the caller, in the envelope, with its id', async () => {
    await fc.assert(
      fc.asyncProperty(bent, async (bytes) => {
        using raw = await RawSocket.open(door.port);
        raw.send(bytes);
        // A request that is not complete yet ends here, with whatever is answered to that.
        raw.socket.end();
        for (const answer of await raw.untilClosed()) {
          expect(answer.status).toBeLessThan(500);
          expect(answer.headers['x-request-id']).toMatch(/^req_/);
        }
      }),
      { numRuns: 300, seed: inject('propertySeed') },
    );
    expect((await fetch(`${door.url}/healthz`)).status).toBe(200);
    expect(door.permits.held('body')).toBe(0);
  });
});

describe('connections', () => {
  test('of callers as many are open as may be; the next is refused at once, and a freed place is given again', async () => {
    await using small = await openDoor({ bounds: { connections: 3 } });
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

  test('pipelined requests are answered in order, and each spends the budget', async () => {
    await using limited = await openDoor({ rate: { perSecond: 0.001, burst: 100 } });
    using raw = await RawSocket.open(limited.port);
    const answers = await raw.send(NEXT.repeat(1000)).answers(1000);
    expect(answers.map(({ status }) => status)).toEqual(
      Array.from({ length: 1000 }, (_, index) => (index < 100 ? 200 : 429)),
    );
  });

  test('garbage behind an unanswered request closes the connection and is not answered in its place', async () => {
    await using waiting = await openDoor({
      jobs: { result: (_caller, _id, { signal }) => delay(60_000, resultOf(RESULT), { signal }) },
    });
    using raw = await RawSocket.open(waiting.port);
    raw.send(get(`/v1/jobs/${JOB}/result?wait_seconds=60`, HOST + KEY));
    await expect.poll(() => waiting.permits.held('wait')).toBe(1);
    raw.send('\0\0\0\r\n\r\n');
    expect(await raw.untilClosed()).toEqual([]);
    await expect.poll(() => waiting.permits.held('wait')).toBe(0);
  });

  test('a client that closes its sending side still gets its answer', async () => {
    using raw = await RawSocket.open(door.port);
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
    await using reset = await openDoor({
      jobs: {
        result: (_caller, _id, { signal }) => delay(60_000, resultOf(RESULT), { signal }),
        replay: async () => bodyOf([JSON.stringify(page)]),
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

describe('when the service stops', () => {
  test('a wait ends with 503 shutting_down and no part of a result', { tags: ['GetResult-5'] }, async () => {
    await using stopping = await openDoor({
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

  test('new work is refused, reads are answered, and every answer ends its connection', {
    tags: ['Errors-19'],
  }, async () => {
    await using stopping = await openDoor();
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
