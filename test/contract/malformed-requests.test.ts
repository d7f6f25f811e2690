/**
 * Spec § Limits, § What the service does 6: byte-exact requests, valid and malformed, on raw sockets to a service. A
 * request that two readers could read differently is refused with the envelope and a request id. The service executes no
 * later request on that connection, and serves the next client normally. Rows E-01 to E-12, E-17 and E-19.
 */
import { gzipSync } from 'node:zlib';
import { bodyBytesMax } from '@vouchbox/protocol';
import { afterEach, describe, expect, test } from 'vitest';
import { type RawAnswer, RawSocket } from '../../packages/server/src/http/socket.fixture.ts';
import { seriesOf } from '../rig/metric-series.ts';
import { useRig } from '../rig/rig.ts';
import { loadSize } from './load-size.ts';

const TOKEN = 'token-of-metrics';
const rig = useRig({ provider: 'subprocess', concurrency: '1', 'metrics-token': TOKEN });

const HOST = 'Host: svc.example\r\n';
const KEY = 'Authorization: Bearer key-of-alpha\r\n';
const JSON_TYPE = 'Content-Type: application/json\r\n';
const SPEC = '{"language":"bash","code":"true"}';
const POST = `POST /v1/jobs HTTP/1.1\r\n${HOST}${KEY}${JSON_TYPE}`;
/** A request that follows a refused one. It would make a job, so the service must never execute it. */
const NEXT = `${POST}Content-Length: ${SPEC.length}\r\n\r\n${SPEC}`;
const get = (target: string, headers = HOST) => `GET ${target} HTTP/1.1\r\n${headers}\r\n`;
const sized = (length: string | number, body = SPEC) => `${POST}Content-Length: ${length}\r\n\r\n${body}`;
const chunksOf = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const chunked = (coding: string, body = chunksOf(SPEC)) => `${POST}Transfer-Encoding: ${coding}\r\n\r\n${body}`;

afterEach(async () => {
  // The service still serves everybody else.
  expect((await rig().request('/healthz', { key: null })).status).toBe(200);
});

/** The members that every refusal must have, whichever layer refuses. */
function expectRefusal(answer: RawAnswer | undefined, status: number, code: string): void {
  const { error } = JSON.parse(answer?.body ?? '{"error":{}}') as { error: Record<string, unknown> };
  expect([answer?.status, error['code']]).toEqual([status, code]);
  expect(Object.keys(error).toSorted()).toEqual(['code', 'message', 'request_id', 'retryable']);
  expect(error['message']).toMatch(/^[\x20-\x7e…]{1,200}$/);
  expect(answer?.headers).toMatchObject({
    'x-request-id': error['request_id'],
    'content-type': 'application/json',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
}

/** Sends everything at once and returns every whole answer that came before the service closed the connection. */
async function exchange(bytes: string): Promise<RawAnswer[]> {
  using raw = await RawSocket.open(rig().port);
  return await raw.send(bytes).untilClosed();
}

/** The answer to a request. A second request shows that the connection stays open. */
async function kept(bytes: string): Promise<RawAnswer> {
  using raw = await RawSocket.open(rig().port);
  const answer = await raw.send(bytes).answer();
  raw.send(get('/healthz'));
  expect((await raw.answers(2))[1]?.status).toBe(200);
  return answer;
}

/** Keyed by title: the statement that a case shows besides the row at the beginning of the title. */
const ALSO_SHOWN: Readonly<Record<string, string>> = {
  'E-02 a TLS hello': 'What-6a',
  'E-02 HTTP/2.0': 'What-6b',
  'E-02 the preface of HTTP/2': 'What-6b',
};

function tagsOf(title: string): string[] {
  return [title.split(' ', 1), ALSO_SHOWN[title] ?? []].flat();
}

describe('refused, with 400 unless the title names another status; the next request on the connection is not executed:', () => {
  for (const [title, bytes] of [
    ['E-01 two hosts', get('/healthz', HOST + HOST)],
    ['E-01 two hosts that differ', get('/healthz', `${HOST}Host: other.example\r\n`)],
    ['E-01 no host', get('/healthz', '')],
    ['E-01 an empty host', get('/healthz', 'Host:\r\n')],
    ['E-01 a host with a path', get('/healthz', 'Host: a/b\r\n')],
    ['E-01 a host with user information', get('/healthz', 'Host: me@a\r\n')],
    ['E-01 a host with a space', get('/healthz', 'Host: a b\r\n')],
    ['E-01 two hosts in one', get('/healthz', 'Host: a, b\r\n')],
    ['E-01 a malformed port', get('/healthz', 'Host: a:b\r\n')],
    ['E-02 HTTP/0.9', 'GET /healthz\r\n\r\n'],
    ['E-02 HTTP/2.0', `GET /healthz HTTP/2.0\r\n${HOST}\r\n`],
    ['E-02 HTTP/1.2', `GET /healthz HTTP/1.2\r\n${HOST}\r\n`],
    ['E-02 HTTP/11', `GET /healthz HTTP/11\r\n${HOST}\r\n`],
    ['E-02 another protocol', `GET /healthz SIP/2.0\r\n${HOST}\r\n`],
    ['E-02 the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['E-02 a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'.padEnd(64, 'a')],
    ['E-03 a length before a coding', sized('4\r\nTransfer-Encoding: chunked', '0\r\n\r\n')],
    ['E-03 a coding before a length', chunked('chunked\r\nContent-Length: 4', '0\r\n\r\n')],
    ['E-03 the same length twice', sized(`${SPEC.length}\r\nContent-Length: ${SPEC.length}`)],
    ['E-03 two lengths', sized(`${SPEC.length}\r\nContent-Length: 3`)],
    ['E-03 a list of lengths', sized('2, 2')],
    ['E-03 a length with a plus', sized('+2')],
    ['E-03 a negative length', sized('-1')],
    ['E-03 a hexadecimal length', sized('0x2')],
    ['E-03 a length with an exponent', sized('1e1')],
    ['E-03 an endless length', sized('9'.repeat(30))],
    ['E-03 an empty length', sized('')],
    ['E-03 a length with a space in it', sized('1 0')],
    ['E-03 a space before the colon of the length', `${POST}Content-Length : 2\r\n\r\n{}`],
    ['E-04 a coding under chunked', chunked('gzip, chunked')],
    ['E-04 identity under chunked', chunked('identity, chunked')],
    ['E-04 identity alone', chunked('identity')],
    ['E-04 chunked that is not the last', chunked('chunked, gzip')],
    ['E-04 an unknown coding', chunked('xchunked')],
    ['E-04 chunked twice', chunked('chunked, chunked')],
    ['E-04 two codings', chunked('chunked\r\nTransfer-Encoding: chunked')],
    ['E-04 chunked after a vertical tab', chunked('\vchunked')],
    ['E-04 a coding in HTTP/1.0', chunked('chunked').replace('HTTP/1.1', 'HTTP/1.0')],
    ['E-04 a malformed chunk size', chunked('chunked', 'zz\r\n{}\r\n0\r\n\r\n')],
    ['E-04 a negative chunk size', chunked('chunked', '-2\r\n{}\r\n0\r\n\r\n')],
    ['E-04 an endless chunk size', chunked('chunked', `${'f'.repeat(20)}\r\n{}\r\n0\r\n\r\n`)],
    ['E-04 a chunk longer than its size', chunked('chunked', '1\r\n{}\r\n0\r\n\r\n')],
    ['E-04 a bare LF in the chunks', chunked('chunked', '2\n{}\n0\n\n')],
    ['E-06 a folded header', get('/healthz', `${HOST}X: a\r\n b\r\n`)],
    ['E-06 a first header that is folded', get('/healthz', ` X: a\r\n${HOST}`)],
    ['E-06 bare LF', 'GET /healthz HTTP/1.1\nHost: a\n\n'],
    ['E-06 bare CR', get('/healthz', `${HOST}X: a\rb\r\n`)],
    ['E-06 NUL', get('/healthz', `${HOST}X: a\0b\r\n`)],
    ['E-06 a control character', get('/healthz', `${HOST}X: a\x07b\r\n`)],
    ['E-06 a space in a name', get('/healthz', `${HOST}X Y: a\r\n`)],
    ['E-06 an empty name', get('/healthz', `${HOST}: a\r\n`)],
    ['E-06 a name without a colon', get('/healthz', `${HOST}nothing\r\n`)],
    ['E-06 two credentials', get('/v1/whoami', HOST + KEY + KEY)],
    ['E-06 two idempotency keys', sized(`${SPEC.length}\r\nIdempotency-Key: a\r\nIdempotency-Key: b`)],
    ['E-07 an address of another scheme as target', get('ftp://svc.example/healthz')],
    ['E-07 an address with user information as target', get('http://user@svc.example/healthz')],
    ['E-07 an address with a malformed host as target', get('http://a b/healthz')],
    ['E-07 a whole address as target and no host', 'GET http://svc.example/healthz HTTP/1.1\r\n\r\n'],
    ['E-07 an authority as target', get('svc.example:80')],
    ['E-07 an asterisk as target', get('*')],
    ['E-07 a target without its slash', get('healthz')],
    ['E-07 a method that does not exist', `FROB /healthz HTTP/1.1\r\n${HOST}\r\n`],
    ['E-07 a method in lower case', `get /healthz HTTP/1.1\r\n${HOST}\r\n`],
    ['E-08 a fragment in the target', get('/healthz#x')],
    ['E-08 bytes outside ASCII in the target', get('/v1/jobs/\xe9')],
    ['E-08 a space in the target', get('/healthz x')],
    ['E-08 a target of 20 KB', get(`/${'a'.repeat(20_000)}`)],
  ] as const) {
    test(`${title}`, { tags: tagsOf(title) }, async () => {
      const before = await rig().jobCount();
      const answers = await exchange(bytes + NEXT);
      expect(answers).toHaveLength(1);
      expectRefusal(answers[0], 400, 'invalid_request');
      expect(answers[0]?.headers['connection']).toBe('close');
      expect(await rig().jobCount()).toBe(before);
    });
  }

  test.each([
    ['E-09 a header of 20 KB', `X: ${'a'.repeat(20_000)}\r\n`],
    ['E-09 16 KiB and more in headers that are each small', 'a: bbbbbbbbbb\r\n'.repeat(1200)],
    ['E-09 2,000 names', Array.from({ length: 2000 }, (_, index) => `a${index}:\r\n`).join('')],
  ])('%s, with 431', { tags: ['E-09'] }, async (_row, headers) => {
    const before = await rig().jobCount();
    const answers = await exchange(get('/healthz', HOST + headers) + NEXT);
    expect(answers).toHaveLength(1);
    expectRefusal(answers[0], 431, 'head_too_large');
    expect(answers[0]?.headers['connection']).toBe('close');
    expect(await rig().jobCount()).toBe(before);
  });

  test('E-04 chunk extensions of 20 KB, with 413', { tags: ['E-04'] }, async () => {
    const answers = await exchange(chunked('chunked', `2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`) + NEXT);
    expect(answers).toHaveLength(1);
    expectRefusal(answers[0], 413, 'payload_too_large');
  });

  test('E-07 CONNECT, with 405 and the allowed methods in Allow', { tags: ['E-07'] }, async () => {
    const answers = await exchange(`CONNECT svc.example:80 HTTP/1.1\r\n${HOST}\r\n${NEXT}`);
    expect(answers).toHaveLength(1);
    expectRefusal(answers[0], 405, 'method_not_allowed');
    expect(answers[0]?.headers['allow']).toContain('GET');
  });
});

describe('served, with the connection kept:', { tags: ['What-6'] }, () => {
  test.each([
    ['E-01 a host with a port', get('/healthz', 'Host: svc.example:8080\r\n')],
    ['E-01 an IPv6 host', get('/healthz', 'Host: [::1]:8080\r\n')],
    ['E-09 names of inherited properties', get('/healthz', `${HOST}__proto__: a\r\nconstructor: b\r\n`)],
    [
      'E-07 headers that would override the method',
      get('/healthz', `${HOST}X-HTTP-Method-Override: DELETE\r\nX-Method-Override: PUT\r\n`),
    ],
    ['E-07 a whole address as target', get('http://svc.example/healthz')],
    ...['h2c', 'websocket', 'TLS/1.0'].map((protocol): [string, string] => [
      `E-07 an upgrade to ${protocol}`,
      get('/healthz', `${HOST}Connection: upgrade\r\nUpgrade: ${protocol}\r\n`),
    ]),
    ['E-06 a header value of bytes above ASCII', get('/healthz', `${HOST}X: \xe9\r\n`)],
  ])('%s', async (_row, bytes) => {
    expect((await kept(bytes)).status).toBe(200);
    expect(({} as Record<string, unknown>)['a']).toBeUndefined();
  });

  test('E-04 a body in chunks of one byte, with an extension and a trailer', async () => {
    const body = SPEC.split('')
      .map((character) => `1;x=y\r\n${character}\r\n`)
      .join('');
    expect((await kept(chunked('chunked', `${body}0\r\nTrailer: a\r\n\r\n`))).status).toBe(201);
  });

  test('E-02 HTTP/1.0, and the connection ends with the answer', async () => {
    const [answer] = await exchange('GET /healthz HTTP/1.0\r\n\r\n');
    expect(answer?.status).toBe(200);
  });
});

describe('answered according to its content, with the connection kept:', () => {
  test.each(['TRACE', 'PROPFIND', 'QUERY', 'PURGE', 'PUT', 'PATCH'])(
    'E-07 %s with 405 and Allow',
    { tags: ['E-07'] },
    async (method) => {
      const answer = await kept(`${method} /healthz HTTP/1.1\r\n${HOST}Content-Length: 0\r\n\r\n`);
      expectRefusal(answer, 405, 'method_not_allowed');
      expect(answer.headers['allow']).toBe('GET, HEAD, OPTIONS');
    },
  );

  test.each([
    ['/%00', 404],
    ['/%2e%2e/healthz', 404],
    ['/../healthz', 404],
    ['//healthz', 404],
    ['/healthz%00', 404],
    ['/healthz/', 404],
    ['/HEALTHZ', 404],
    ['/%ZZ', 400],
    ['/v1/jobs/%', 400],
    ['/v1/jobs/%c0%ae', 400],
    ['/v1/jobs/%c0%ae%c0%ae/x', 400],
    ['/v1/jobs/%ed%a0%80', 400],
    ['/v1/jobs/%2e%2e/x', 404],
    ['/v1/jobs/%2e%2e', 404],
    ['/v1/jobs/%252e%252e', 404],
    ['/v1/jobs/a%2fresult', 404],
    ['/v1/jobs/a%5cresult', 404],
    [`/v1/jobs/${'a'.repeat(8000)}`, 404],
  ])('E-08 the target %.40s decoded once, with %i', { tags: ['E-08'] }, async (target, status) => {
    const answer = await kept(get(target, HOST + KEY));
    const { error } = JSON.parse(answer.body) as { error: { code: string } };
    expectRefusal(answer, status, error.code);
    expect(['invalid_request', 'route_not_found', 'job_not_found']).toContain(error.code);
  });
});

describe('refused before a byte of the body is requested:', { tags: ['E-11'] }, () => {
  const CONTINUE = 'Expect: 100-continue\r\n';

  test.each([
    [
      'E-11 a body without a credential',
      `POST /v1/jobs HTTP/1.1\r\n${HOST}${JSON_TYPE}${CONTINUE}Content-Length: 9\r\n\r\n`,
      401,
      'unauthorized',
    ],
    [
      'E-11 a body with an invalid credential',
      `POST /v1/jobs HTTP/1.1\r\n${HOST}Authorization: Bearer wrong\r\n${JSON_TYPE}${CONTINUE}Content-Length: 9\r\n\r\n`,
      401,
      'unauthorized',
    ],
    [
      'E-11 a body over its bound',
      `${POST}${CONTINUE}Content-Length: ${bodyBytesMax + 1}\r\n\r\n`,
      413,
      'payload_too_large',
    ],
    ['E-11 an unknown expectation', `${POST}Expect: 200-ok\r\nContent-Length: 9\r\n\r\n`, 417, 'expectation_failed'],
    [
      'E-11 an expectation beside another',
      `${POST}Expect: 100-continue, x\r\nContent-Length: 9\r\n\r\n`,
      417,
      'expectation_failed',
    ],
    [
      'E-11 a body for an operation without one',
      `GET /v1/whoami HTTP/1.1\r\n${HOST}${KEY}${CONTINUE}Content-Length: 9\r\n\r\n`,
      400,
      'invalid_request',
    ],
    ...['gzip', 'deflate', 'br', 'zstd', 'gzip, gzip', 'identity', 'x'].map(
      (coding): [string, string, number, string] => [
        `E-19 a body encoded as ${coding}`,
        `${POST}Content-Encoding: ${coding}\r\nContent-Length: 9\r\n\r\n`,
        415,
        'unsupported_media_type',
      ],
    ),
  ])('%s', async (_row, bytes, status, code) => {
    using raw = await RawSocket.open(rig().port);
    // The client sends no byte of the body, so the answer cannot depend on one.
    const answer = await raw.send(bytes).answer();
    expectRefusal(answer, status, code);
    expect(answer.headers['connection']).toBe('close');
    expect(raw.text.startsWith(`HTTP/1.1 ${status}`)).toBe(true);
  });

  test('E-11 a client that sends Expect: 100-continue gets 100 Continue, and then its body is accepted', async () => {
    using raw = await RawSocket.open(rig().port);
    raw.send(`${POST}${CONTINUE}Content-Length: ${SPEC.length}\r\n\r\n`);
    await raw.until(() => raw.text === 'HTTP/1.1 100 Continue\r\n\r\n');
    expect((await raw.send(SPEC).answers(2))[1]?.status).toBe(201);
  });

  test('E-19 a body encoded as gzip, even a compression bomb, is refused with 415', { tags: ['E-19'] }, async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    const before = await rig().jobCount();
    const answer = await rig().post(bomb, { headers: { 'content-encoding': 'gzip' } });
    expect([answer.status, answer.json.error.code]).toEqual([415, 'unsupported_media_type']);
    expect(await rig().jobCount()).toBe(before);
  });

  test('E-19 no answer is compressed, whatever a client accepts', async () => {
    const { headers } = await rig().request('/v1/capabilities', {
      headers: { 'accept-encoding': 'gzip, br, zstd', te: 'trailers, gzip' },
    });
    expect([headers.get('content-encoding'), headers.get('transfer-encoding')]).toEqual([null, null]);
  });
});

test('E-12 bytes that are refused before they form a request are counted by status and end the connection', {
  tags: ['E-12'],
}, async () => {
  const counted = async () => seriesOf((await rig().request('/metrics', { key: TOKEN })).text);
  const refusals: [status: number, bytes: string][] = [
    [400, 'hello\r\n\r\n'],
    [400, get('/healthz', HOST + HOST)],
    [405, `CONNECT a:80 HTTP/1.1\r\n${HOST}\r\n`],
    [417, get('/healthz', `${HOST}Expect: miracles\r\n`)],
    [431, get('/healthz', `${HOST}X: ${'a'.repeat(20_000)}\r\n`)],
  ];
  const before = await counted();
  for (const [status, bytes] of refusals) {
    const answers = await exchange(bytes);
    expect(answers.map((answer) => [answer.status, answer.headers['connection']])).toEqual([[status, 'close']]);
  }
  const after = await counted();
  const grown = (status: number) => {
    const name = `svc_http_heads_refused_total{status="${status}"}`;
    return (after.get(name) ?? 0) - (before.get(name) ?? 0);
  };
  expect([400, 405, 417, 431].map(grown)).toEqual([2, 1, 1, 1]);
});

test('E-03 a request whose body ends before its declared length is refused and makes no job', {
  tags: ['E-03'],
}, async () => {
  const before = await rig().jobCount();
  for (const bytes of [sized(bodyBytesMax, '{'), chunked('chunked', '5\r\n{'), `${POST}Content-Le`]) {
    using raw = await RawSocket.open(rig().port);
    raw.send(bytes).socket.end();
    for (const answer of await raw.untilClosed()) expect(answer.status).toBe(400);
  }
  expect(await rig().jobCount()).toBe(before);
});

describe('E-17 many requests in a row on one connection', { tags: ['E-17'] }, () => {
  const requests = loadSize({ small: 100, full: 1000 });
  const burst = requests / 10;
  const limited = useRig({ provider: 'subprocess', 'rate-per-second': '0.01', 'rate-burst': String(burst) });

  test('are answered in order, and each counts against the request budget', async () => {
    const paths = Array.from({ length: requests }, (_, index) => (index % 2 === 0 ? '/v1/whoami' : '/v1/jobs?limit=0'));
    using raw = await RawSocket.open(limited().port);
    const answers = await raw.send(paths.map((path) => get(path, HOST + KEY)).join('')).answers(requests);
    // Each answer belongs to its own request: it is either the path's answer or the refusal for a spent budget.
    const ownStatuses = paths.map((path) => [path === '/v1/whoami' ? 200 : 400, 429]);
    expect(answers.filter(({ status }, index) => !ownStatuses[index]?.includes(status))).toEqual([]);
    const served = answers.filter(({ status }) => status !== 429).length;
    // The bucket gains a token every 100 seconds, so a very slow machine may serve one request more.
    expect([burst, burst + 1, burst + 2]).toContain(served);
    const ids = new Set(answers.map(({ headers }) => headers['x-request-id']));
    expect(ids.size).toBe(requests);
    // The budgets of other tenants are unchanged.
    expect((await limited().request('/v1/whoami', { key: limited().beta.key })).status).toBe(200);
  });
});
