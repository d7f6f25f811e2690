/** Spec § Errors, § Authentication: every refusal has the same envelope with a request id, whichever layer refuses. */
import { ERRORS } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import type { RawAnswer } from '../rig/raw-http.ts';
import { type Answer, useRig } from '../rig/rig.ts';

const rig = useRig();

function expectEnvelope(answer: Answer, status: number, code: keyof typeof ERRORS): void {
  const requestId = answer.headers.get('x-request-id');
  expect(answer.status).toBe(status);
  expect(requestId).toMatch(/^\S{8,}$/);
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  expect(answer.json).toEqual({
    error: {
      code,
      message: expect.stringMatching(/^[\x20-\x7e…]{1,200}$/) as unknown,
      request_id: requestId,
      retryable: ERRORS[code].retryable,
    },
  });
}

describe('an unsuccessful request', { tags: ['Errors-1', 'Errors-2'] }, () => {
  test('a request for an unknown route is refused', { tags: ['Errors-10'] }, async () => {
    expectEnvelope(await rig().request('/v1/nothing'), 404, 'route_not_found');
    expectEnvelope(await rig().request('/v2/jobs'), 404, 'route_not_found');
  });

  test('a request for an unknown job is refused', { tags: ['Errors-9'] }, async () => {
    expectEnvelope(await rig().request('/v1/jobs/job_1'), 404, 'job_not_found');
    expectEnvelope(await rig().request('/v1/jobs/..%2F..%2Fwhoami'), 404, 'job_not_found');
  });

  test.each([
    ['PUT', '/v1/jobs', 'GET, POST'],
    ['POST', '/v1/jobs/job_1', 'DELETE, GET'],
    ['DELETE', '/v1/whoami', 'GET'],
    ['POST', '/healthz', 'GET'],
  ])(
    'a wrong method is answered with the allowed methods: %s %s',
    { tags: ['Errors-10'] },
    async (method, path, methods) => {
      const answer = await rig().request(path, { method });
      expectEnvelope(answer, 405, 'method_not_allowed');
      const allowed = answer.headers
        .get('allow')
        ?.split(', ')
        .filter((name) => !['HEAD', 'OPTIONS'].includes(name));
      expect(allowed?.sort().join(', ')).toBe(methods);
    },
  );

  test('is answered with a new request id each time', async () => {
    const ids = await Promise.all(
      Array.from({ length: 5 }, async () => (await rig().request('/v1/nothing')).headers.get('x-request-id')),
    );
    expect(new Set(ids).size).toBe(5);
  });

  test('a refusal repeats text from the request without control characters, in at most 200 characters', async () => {
    const answer = await rig().post({ language: `\x1b[31m${'x'.repeat(5000)}\u202e`, code: 'true' });
    expectEnvelope(answer, 400, 'unsupported_language');
  });
});

test('a successful answer has a request id', { tags: ['Errors-2'] }, async () => {
  for (const path of ['/healthz', '/v1/whoami', '/v1/jobs']) {
    expect((await rig().request(path)).headers.get('x-request-id')).toMatch(/^\S{8,}$/);
  }
});

describe('a credential', () => {
  const paths = [
    '/v1/jobs',
    '/v1/jobs/job_1',
    '/v1/jobs/job_1/result',
    '/v1/jobs/job_1/replay',
    '/v1/capabilities',
    '/v1/whoami',
    '/v1/status',
  ];

  test.each(paths)('is required at %s, with a challenge', { tags: ['Errors-7'] }, async (path) => {
    const answer = await rig().request(path, { key: null });
    expectEnvelope(answer, 401, 'unauthorized');
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="svc"');
  });

  test.each(['wrong', 'key-of-alph', 'key-of-alphaa', 'KEY-OF-ALPHA'])(
    'an invalid credential is refused with invalid_token: %s',
    { tags: ['Authentication-5'] },
    async (key) => {
      const answer = await rig().request('/v1/whoami', { key });
      expectEnvelope(answer, 401, 'unauthorized');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="svc", error="invalid_token"');
      expect(answer.text).not.toContain(key);
    },
  );

  test.each(['Basic a2V5OmtleQ==', 'Bearer', 'Bearer ', 'key-of-alpha', 'Bearer key-of-alpha extra'])(
    'a header spelled %j counts as no credential',
    async (authorization) => {
      const answer = await rig().request('/v1/whoami', { key: null, headers: { authorization } });
      expectEnvelope(answer, 401, 'unauthorized');
    },
  );

  test('is checked before the body of a request is read or validated', async () => {
    expectEnvelope(await rig().post('no JSON', { key: null }), 401, 'unauthorized');
  });

  test('is read only from its header, not from the query or other headers', async () => {
    const answer = await rig().request('/v1/whoami?api_key=key-of-alpha', {
      key: null,
      headers: { 'x-api-key': 'key-of-alpha', cookie: 'key=key-of-alpha' },
    });
    expect(answer.status).toBe(401);
  });
});

describe('a refusal by the HTTP parser or the listener', { tags: ['Errors-3'] }, () => {
  const head = (lines: string) => `${lines}\r\n\r\n`;
  const authorized = () => `Host: x\r\nAuthorization: Bearer ${rig().alpha.key}`;

  function expectRawEnvelope(answer: RawAnswer | undefined, code: string): void {
    const { error } = JSON.parse(answer?.body ?? 'null') as { error: { code: string; request_id: string } };
    expect(error.code).toBe(code);
    expect(answer?.headers['x-request-id']).toBe(error.request_id);
    expect(answer?.headers['content-type']).toMatch(/^application\/json/);
  }

  test.each<[string, string, number, string]>([
    ['bytes that are not HTTP', 'hello\r\n\r\n', 400, 'invalid_request'],
    ['a request without Host', head('GET /healthz HTTP/1.1'), 400, 'invalid_request'],
    ['a request with two Hosts', head('GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b'), 400, 'invalid_request'],
    [
      'a header with a space before its colon',
      head('GET /healthz HTTP/1.1\r\nHost: x\r\nA : b'),
      400,
      'invalid_request',
    ],
    ['a folded header', head('GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n c'), 400, 'invalid_request'],
    [
      'Content-Length with Transfer-Encoding',
      `${head('POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked')}0\r\n\r\n`,
      400,
      'invalid_request',
    ],
    [
      'two Content-Lengths',
      `${head('POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2')}ab`,
      400,
      'invalid_request',
    ],
    [
      'a head that is too large',
      head(`GET /healthz HTTP/1.1\r\nHost: x\r\nA: ${'x'.repeat(20_000)}`),
      431,
      'head_too_large',
    ],
    ['an unknown expectation', head('GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: miracles'), 417, 'expectation_failed'],
  ])('for %s has the error envelope, and ends the connection', async (_name, bytes, status, code) => {
    const answers = await rig().raw(`${bytes}${head('GET /healthz HTTP/1.1\r\nHost: x')}`);
    expect(answers).toHaveLength(1);
    expect(answers[0]?.status).toBe(status);
    expectRawEnvelope(answers[0], code);
  });

  test('a request with two credentials is refused like one without any', async () => {
    const [answer] = await rig().raw(
      head(
        `GET /v1/whoami HTTP/1.1\r\n${authorized()}\r\nAuthorization: Bearer ${rig().beta.key}\r\nConnection: close`,
      ),
    );
    expect([400, 401]).toContain(answer?.status);
  });

  test('requests in a row on one connection are answered in order', async () => {
    const get = (path: string, last = '') => head(`GET ${path} HTTP/1.1\r\n${authorized()}${last}`);
    const requests = get('/healthz') + get('/v1/whoami') + get('/v1/nothing', '\r\nConnection: close');
    // This client leaves its sending side open, because the service treats a client that ends this side as gone.
    const answers = await rig().raw(requests, 'open');
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404]);
  });
});
