import {
  ERRORS,
  type ErrorEnvelope,
  OPERATION_IDS,
  type OperationId,
  operationOf,
  PROMETHEUS_MEDIA_TYPE,
} from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PERMIT_KINDS, type PermitKind } from '../capacity/permits.ts';
import { ServiceError } from '../ground/service-error.ts';
import { type AnsweredRequest, NO_OBSERVER, type Observer } from '../telemetry/observer.ts';
import type { Metrics } from './answer/metrics.ts';
import { LINK } from './links.fixture.ts';
import { BLOB, bearer, credentialWith, JOB, KEY_OF_OTHER, openServer, type TestServer } from './server.fixture.ts';
import { RawSocket } from './socket.fixture.ts';

let server: TestServer;
beforeAll(async () => {
  server = await openServer({ credentials: [credentialWith('no-scopes', [])] });
});
afterAll(() => server[Symbol.asyncDispose]());

/** The refusal in a response, after a check that it has everything that a refusal must have. */
async function refusalIn(response: Response): Promise<ErrorEnvelope['error']> {
  const { error } = (await response.json()) as ErrorEnvelope;
  expect(response.headers.get('x-request-id')).toBe(error.request_id);
  expect(response.headers.get('content-type')).toBe('application/json');
  return error;
}

const request = (path: string, init: RequestInit = {}) => fetch(`${server.url}${path}`, init);
const submit = (body: string, headers: Record<string, string> = {}) =>
  request('/v1/jobs', {
    method: 'POST',
    headers: { ...bearer(), 'content-type': 'application/json', ...headers },
    body,
  });

test.each(OPERATION_IDS)('%s has a route, which requires a credential unless it is public', async (id) => {
  const { method, path, access } = operationOf(id);
  const response = await request(pathOf(path), { method });
  const isAbsent = id === 'getMetrics';
  const expected = isAbsent ? 404 : access === 'public' ? 200 : 401;
  expect(response.status).toBe(expected);
  expect(response.headers.get('www-authenticate')).toBe(expected === 401 ? 'Bearer realm="svc"' : null);
});

test.each(OPERATION_IDS.filter((id) => operationOf(id).access.includes(':')))(
  '%s refuses a credential that lacks the scope of the operation, and names this scope',
  async (id) => {
    const { method, path, access } = operationOf(id);
    const response = await request(pathOf(path), { method, headers: bearer('no-scopes') });
    expect((await refusalIn(response)).code).toBe('insufficient_scope');
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer realm="svc", error="insufficient_scope", scope="${access}"`,
    );
  },
);

/** An operation's path, filled in with objects that exist. */
function pathOf(path: string): string {
  return path
    .replace('{id}', JOB)
    .replace('{seq}', '3')
    .replace('{sha256}', BLOB)
    .replace('{grading}', 'grading_x')
    .replace('{session}', 'one')
    .replace('{link}', LINK);
}

/** A request that takes every permit that its operation may take. */
const asked = (id: OperationId, kind: PermitKind) => {
  const { method, path, body, query: schema } = operationOf(id);
  const query = schema !== undefined && 'wait_seconds' in schema.properties && kind === 'wait' ? '?wait_seconds=1' : '';
  const headers = { ...bearer(), ...(body !== undefined && { 'content-type': 'application/json' }) };
  return [`${pathOf(path)}${query}`, { method, headers, ...(body && { body: '{}' }) }] as const;
};

describe.each(PERMIT_KINDS)('while no permit of the kind "%s" is free', (kind) => {
  let full: TestServer;
  beforeAll(async () => {
    full = await openServer({ permits: { [kind]: { total: 1, perTenant: 0 } } });
  });
  afterAll(() => full[Symbol.asyncDispose]());

  test.each(OPERATION_IDS)(
    '%s is refused exactly if the contract lists this kind of permit for the operation',
    async (id) => {
      const [path, init] = asked(id, kind);
      const { status } = await fetch(full.url + path, init);
      // Without a permit for a long answer, a submission still succeeds: the job is stored, and only a long result is left out.
      const isLeftOut = id === 'submitJob' && kind === 'response';
      expect(status === 429).toBe(operationOf(id).capacity.includes(kind) && !isLeftOut);
    },
  );
});

test('a bad token is answered 401 with error="invalid_token" (RFC 6750 § 3.1)', async () => {
  const response = await request('/v1/whoami', { headers: bearer('wrong') });
  expect((await refusalIn(response)).code).toBe('unauthorized');
  expect(response.headers.get('www-authenticate')).toBe('Bearer realm="svc", error="invalid_token"');
});

test('a token in the query is ignored', async () => {
  const response = await request('/v1/whoami?access_token=key-of-acme');
  expect((await refusalIn(response)).code).toBe('unauthorized');
  expect(JSON.stringify(server.log)).not.toContain('key-of-acme');
});

test('whoami names the principal of the credential', async () => {
  const response = await request('/v1/whoami', { headers: bearer() });
  expect(await response.json()).toMatchObject({ tenant: 'acme', auth_method: 'legacy', expires_at: null });
});

test('another tenant’s job, an unknown job and an impossible id get the same 404', async () => {
  const bodies = [];
  for (const [id, key] of [
    [JOB, KEY_OF_OTHER],
    ['job_unknown', 'key-of-acme'],
    ['%2e%2e%00', 'key-of-acme'],
    ['x'.repeat(3000), 'key-of-acme'],
  ]) {
    const response = await request(`/v1/jobs/${id}`, { headers: bearer(key) });
    expect(response.status).toBe(404);
    bodies.push({ ...(await refusalIn(response)), request_id: '' });
  }
  expect(new Set(bodies.map((body) => JSON.stringify(body)))).toHaveLength(1);
});

test('a submission answers 201 with Location and Idempotency-Replayed', async () => {
  const response = await submit('{"language":"bash","code":":"}', { 'idempotency-key': 'k1' });
  expect(response.status).toBe(201);
  expect(response.headers.get('location')).toBe(`/v1/jobs/${JOB}`);
  expect(response.headers.get('idempotency-replayed')).toBe('false');
  expect(server.submissions.at(-1)).toMatchObject({ body: { language: 'bash', code: ':' }, idempotencyKey: 'k1' });
});

test.each([
  ['text/plain', 415],
  ['application/json; charset=latin1', 415],
  ['application/json;charset=UTF-8', 201],
  ['application/json; charset="utf-8"', 201],
  ['application/jsonp', 415],
  ['application/x-www-form-urlencoded', 415],
])('a body of type %s is answered %i', async (type, status) => {
  expect((await submit('{}', { 'content-type': type })).status).toBe(status);
});

test('a compressed body is refused with 415, and is never decompressed', async () => {
  const response = await submit('{}', { 'content-encoding': 'gzip' });
  expect((await refusalIn(response)).code).toBe('unsupported_media_type');
});

test.each([
  ['', 'ends before'],
  ['{"a":1,"a":2}', '"/a"'],
  ['\ufeff{}', 'byte order mark'],
])('the body %j is refused with invalid_json', async (body, says) => {
  const error = await refusalIn(await submit(body));
  expect(error.code).toBe('invalid_json');
  expect(error.message).toContain(says);
});

test.each([
  ['x'.repeat(1), 201],
  ['x'.repeat(128), 201],
  ['x'.repeat(129), 400],
  ['a b', 400],
  ['é', 400],
  ['', 400],
])('an Idempotency-Key of %j is answered %i', async (key, status) => {
  expect((await submit('{}', { 'idempotency-key': key })).status).toBe(status);
});

test.each([
  ['/v1/jobs?limit=0', 'limit'],
  ['/v1/jobs?limit=201', 'limit'],
  ['/v1/jobs?limit=1e1', 'limit'],
  ['/v1/jobs?limit=', 'limit'],
  ['/v1/jobs?limit=1&limit=1', 'limit'],
  ['/v1/jobs?status=done', 'status'],
  ['/v1/jobs?status=queued,', 'status'],
  ['/v1/jobs?language=perl', 'language'],
  ['/v1/jobs?colour=red', 'colour'],
  ['/v1/jobs?cursor=', 'cursor'],
  ['/v1/whoami?x=1', 'x'],
  [`/v1/jobs/${JOB}/replay?after=-1`, 'after'],
  [`/v1/jobs/${JOB}/replay?limit=1001`, 'limit'],
  [`/v1/jobs/${JOB}/result?wait_seconds=300.1`, 'wait_seconds'],
  [`/v1/jobs/${JOB}/result?wait_seconds=-1`, 'wait_seconds'],
  [`/v1/jobs/${JOB}/result?wait_seconds=NaN`, 'wait_seconds'],
  [`/v1/jobs/${JOB}/result?wait_seconds=1e9`, 'wait_seconds'],
  [`/v1/jobs/${JOB}/result?wait_seconds=300.00000000000006`, 'wait_seconds'],
  [`/v1/jobs/${JOB}/result?wait_seconds=1e400`, 'wait_seconds'],
  [`/v1/jobs/${JOB}/result?wait_seconds=.`, 'wait_seconds'],
  [`/v1/jobs/${JOB}/result?wait_seconds=1_0`, 'wait_seconds'],
  [`/v1/jobs/${JOB}/result?wait_seconds=0x1`, 'wait_seconds'],
  [`/v1/jobs/${JOB}/replay?after=9007199254740992`, 'after'],
])('%s is refused, and the message names %s', async (path, name) => {
  const error = await refusalIn(await request(path, { headers: bearer() }));
  expect(error.code).toBe('invalid_request');
  expect(error.message).toContain(`"${name}"`);
});

test.each([
  '/v1/jobs?limit=1',
  '/v1/jobs?limit=200',
  '/v1/jobs?status=queued,running&language=node&cursor=abc',
  `/v1/jobs/${JOB}/replay?after=0&limit=1000`,
  `/v1/jobs/${JOB}/result?wait_seconds=0`,
  `/v1/jobs/${JOB}/result?wait_seconds=0.25`,
  `/v1/jobs/${JOB}/result?wait_seconds=300`,
  `/v1/jobs/${JOB}/result?wait_seconds=0.30000000000000004`,
  `/v1/jobs/${JOB}/result?wait_seconds=1e1`,
  `/v1/jobs/${JOB}/result?wait_seconds=5.`,
  `/v1/jobs/${JOB}/result?wait_seconds=.5`,
  `/v1/jobs/${JOB}/result?wait_seconds=-0.0`,
  `/v1/jobs/${JOB}/result?wait_seconds=5e-324`,
  `/v1/jobs/${JOB}/replay?after=9007199254740991`,
])('%s is accepted', async (path) => {
  expect((await request(path, { headers: bearer() })).status).toBe(200);
});

test.each([
  ['PUT', '/v1/jobs', 'GET, HEAD, POST, OPTIONS'],
  ['PATCH', `/v1/jobs/${JOB}`, 'GET, HEAD, DELETE, OPTIONS'],
  ['POST', '/healthz', 'GET, HEAD, OPTIONS'],
  ['GET', `/v1/jobs/${JOB}/stream-ticket`, 'POST, OPTIONS'],
  ['POST', `/v1/blobs/sha256/${BLOB}`, 'GET, HEAD, PUT, OPTIONS'],
])('%s %s is answered 405 with Allow: %s', async (method, path, allow) => {
  const response = await request(path, { method, headers: bearer() });
  expect((await refusalIn(response)).code).toBe('method_not_allowed');
  expect(response.headers.get('allow')).toBe(allow);
});

describe('an unknown path', {
  tags: ['Endpoints-2', 'Authentication-1'],
}, () => {
  test.each([
    ['GET', '/v1'],
    ['GET', '/v1/anything'],
    ['POST', '/v1/nope'],
    ['GET', '/v1?x=1'],
    ['GET', '/%76%31/nope'],
    ['PUT', '/v1/jobs'],
    ['OPTIONS', '/v1/jobs'],
    ['PROPFIND', '/v1/jobs'],
    ['TRACE', '/v1/x'],
  ])('below /v1 needs a credential: %s %s', async (method, path) => {
    const ask = async (key: string) => {
      using raw = await RawSocket.open(server.port);
      return await raw.send(`${method} ${path} HTTP/1.1\r\nHost: a\r\n${key}\r\n`).answer();
    };
    const stranger = await ask('');
    expect([stranger.status, stranger.headers['www-authenticate']]).toEqual([401, 'Bearer realm="svc"']);
    const caller = await ask('Authorization: Bearer key-of-acme\r\n');
    expect([204, 404, 405]).toContain(caller.status);
    expect(caller.headers['ratelimit-remaining']).toMatch(/^\d+$/);
  });

  test.each(['/nowhere', '/v2/jobs', '/v1x', '/V1/jobs', '/healthz/x'])(
    'outside /v1, such as %s, needs no credential',
    async (path) => {
      expect((await refusalIn(await request(path))).code).toBe('route_not_found');
    },
  );
});

describe('an operation without a body', () => {
  const chunked = (line: string, chunks: string) =>
    `${line} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer key-of-acme\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`;
  const ask = async (bytes: string) => {
    using raw = await RawSocket.open(server.port);
    return await raw.send(bytes).answer();
  };

  test.each([
    [`POST /v1/jobs/${JOB}/stream-ticket`, 201],
    [`DELETE /v1/jobs/${JOB}`, 200],
    [`GET /v1/jobs/${JOB}`, 200],
    ['GET /healthz', 200],
  ])('%s accepts an empty chunked body', async (line, status) => {
    expect((await ask(chunked(line, '0\r\n\r\n'))).status).toBe(status);
  });

  test.each([`DELETE /v1/jobs/${JOB}`, 'GET /v1/jobs', `POST /v1/jobs/${JOB}/stream-ticket`])(
    '%s refuses a body with a chunk in it',
    async (line) => {
      expect((await ask(chunked(line, '1\r\nx\r\n0\r\n\r\n'))).status).toBeGreaterThanOrEqual(400);
    },
  );

  test('at once refuses a client that waits for 100 Continue', async () => {
    const bytes = chunked(`DELETE /v1/jobs/${JOB}`, '').replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n');
    expect((await ask(bytes)).status).toBe(400);
  });

  test('refuses a chunked body that does not end in time', async () => {
    await using hasty = await openServer({ bounds: { bodyMilliseconds: 50 } });
    using raw = await RawSocket.open(hasty.port);
    const { status, body } = await raw.send(chunked(`DELETE /v1/jobs/${JOB}`, '')).answer();
    expect([status, (JSON.parse(body) as { error: { code: string } }).error.code]).toEqual([400, 'invalid_request']);
  });
});

test("the metrics of the whole service refuse a tenant's credential, even if it equals the metrics token", {
  tags: ['Authentication-9'],
}, async () => {
  await using careless = await openServer({ metricsToken: 'key-of-acme' });
  const headers = bearer('key-of-acme');
  expect((await fetch(`${careless.url}/v1/whoami`, { headers })).status).toBe(200);
  expect((await refusalIn(await fetch(`${careless.url}/metrics`, { headers }))).code).toBe('unauthorized');
});

describe('the front page', () => {
  test('tells anyone what the service is and where its contract is', async () => {
    const response = await request('/');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    const page = (await response.json()) as { name: string; contract: string };
    expect(page.name).toBe('Vouchbox');
    expect((await request(page.contract)).status).toBe(200);
  });

  test('answers HEAD, and refuses other methods with a list of the allowed ones', async () => {
    expect((await request('/', { method: 'HEAD' })).status).toBe(200);
    const refused = await request('/', { method: 'POST', body: 'x' });
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });
});

test('OPTIONS lists the methods of a route, and does not allow pages from other origins to use the route', async () => {
  const headers = { ...bearer(), origin: 'https://evil.example', 'access-control-request-method': 'POST' };
  const response = await request('/v1/jobs', { method: 'OPTIONS', headers });
  expect(response.status).toBe(204);
  expect(response.headers.get('allow')).toBe('GET, HEAD, POST, OPTIONS');
  expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
});

test('HEAD is answered with the headers of GET and without a body', async () => {
  const [head, get] = await Promise.all(
    ['HEAD', 'GET'].map((method) => request(`/v1/jobs/${JOB}`, { method, headers: bearer() })),
  );
  expect(head?.headers.get('content-length')).toBe(get?.headers.get('content-length'));
  expect(await head?.text()).toBe('');
});

test.each(['/v2/jobs', '/v1', '/v1/jobs/', '//v1/jobs', '/V1/jobs', '/v1/jobs/a/b/c'])(
  'the path %s has no route',
  async (path) => {
    expect((await refusalIn(await request(path, { headers: bearer() }))).code).toBe('route_not_found');
  },
);

test('every answer forbids clients to cache it or to guess its content type', async () => {
  for (const path of ['/healthz', '/v1/whoami', '/nowhere']) {
    const { headers } = await request(path, { headers: bearer() });
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  }
});

test('an unexpected error is answered as `internal`, and only the log names its cause', {
  tags: ['Errors-22', 'RST-09'],
}, async () => {
  await using broken = await openServer({
    jobs: {
      list: async () => {
        throw new Error('secret cause');
      },
    },
  });
  const response = await fetch(`${broken.url}/v1/jobs`, { headers: bearer() });
  const error = await refusalIn(response);
  expect(error).toMatchObject({ code: 'internal', retryable: true });
  expect(error.message).not.toContain('secret');
  expect(broken.log.some((line) => JSON.stringify(line).includes('secret cause'))).toBe(true);
});

test('a refusal from an inner layer keeps its code, its status and its Retry-After', async () => {
  await using full = await openServer({
    jobs: {
      submit: async () => {
        throw new ServiceError('queue_full', ERRORS.queue_full.meaning, { retryAfterSeconds: 2.2 });
      },
    },
  });
  const headers = { ...bearer(), 'content-type': 'application/json' };
  const response = await fetch(`${full.url}/v1/jobs`, { method: 'POST', headers, body: '{}' });
  expect(response.status).toBe(503);
  expect(await refusalIn(response)).toMatchObject({ code: 'queue_full', retryable: true });
  expect(response.headers.get('retry-after')).toBe('3');
});

test('a message that repeats text from the client is short and has no control characters', async () => {
  const response = await request(`/v1/whoami?${encodeURIComponent(`\u001b[31m\u202e${'z'.repeat(4000)}`)}=1`, {
    headers: bearer(),
  });
  const { message } = await refusalIn(response);
  expect(message.length).toBeLessThanOrEqual(200);
  expect(message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

test('each tenant has its own request budget, a refusal has Retry-After, and an answer states the remaining budget', {
  tags: ['Errors-16'],
}, async () => {
  await using tight = await openServer({ rate: { perSecond: 0.01, burst: 2 } });
  const ask = (key?: string) => fetch(`${tight.url}/v1/whoami`, { headers: bearer(key) });
  expect((await ask()).headers.get('ratelimit-remaining')).toBe('1');
  expect((await ask()).status).toBe(200);
  const refused = await ask();
  expect((await refusalIn(refused)).code).toBe('rate_limited');
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(90);
  expect((await ask(KEY_OF_OTHER)).status).toBe(200);
});

describe('metrics', () => {
  const answers: AnsweredRequest[] = [];
  const observer: Observer = { ...NO_OBSERVER, requestAnswered: (answer) => answers.push(answer) };
  const metrics: Metrics = {
    ofTenant: async (tenant, accept) => ({ mediaType: PROMETHEUS_MEDIA_TYPE, text: `${tenant} ${accept}` }),
    ofService: async () => ({ mediaType: PROMETHEUS_MEDIA_TYPE, text: 'all' }),
  };
  const ask = async (port: TestServer, path: string, key: string) => {
    const response = await fetch(`${port.url}${path}`, { headers: { ...bearer(key), accept: 'text/plain' } });
    return [response.status, await response.text()] as const;
  };

  test('the metrics of the whole service are shown only with the metrics token, which gives access to nothing else', async () => {
    await using metered = await openServer({ metricsToken: 'metrics-token', metrics });
    expect(await ask(metered, '/metrics', 'metrics-token')).toEqual([200, 'all']);
    expect((await ask(metered, '/metrics', 'key-of-acme'))[0]).toBe(401);
    expect((await ask(metered, '/v1/metrics', 'metrics-token'))[0]).toBe(401);
    expect((await fetch(`${metered.url}/metrics`)).headers.get('www-authenticate')).toBe('Bearer realm="svc"');
  });

  test('the metrics of a tenant are shown to the tenant, in the format that it requests', async () => {
    await using metered = await openServer({ metrics });
    expect(await ask(metered, '/v1/metrics', 'key-of-acme')).toEqual([200, 'acme text/plain']);
  });

  test('the metrics of the whole service have no route, for any method, if no metrics token is set', {
    tags: ['Routes-2'],
  }, async () => {
    await using metered = await openServer({ metrics });
    expect((await ask(metered, '/metrics', 'key-of-acme'))[0]).toBe(404);
    for (const method of ['OPTIONS', 'POST', 'DELETE'])
      expect((await refusalIn(await fetch(`${metered.url}/metrics`, { method }))).code).toBe('route_not_found');
    await using known = await openServer({ metricsToken: 'metrics-token', metrics });
    expect((await fetch(`${known.url}/metrics`, { method: 'POST' })).headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  });

  test('the metrics count answers by route and status, never by a path that a client invented', async () => {
    await using metered = await openServer({ observer });
    answers.length = 0;
    for (const path of [`/v1/jobs/${JOB}`, '/nowhere/at/all', '/%ZZ']) await ask(metered, path, 'key-of-acme');
    await expect
      .poll(() => answers.map(({ route, status }) => [route, status]))
      .toEqual([
        ['/v1/jobs/{id}', 200],
        [null, 404],
        [null, 400],
      ]);
  });
});
