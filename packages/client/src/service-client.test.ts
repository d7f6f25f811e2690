import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { OPENMETRICS_MEDIA_TYPE, PROMETHEUS_MEDIA_TYPE } from '@vouchbox/protocol';
import { describe, expect, test, vi } from 'vitest';
import { cutShort, json, noAnswer, refusal, type ScriptedService, scriptedService } from '../test/scripted-service.ts';
import { whole } from '../test/whole-answer.ts';
import { ServiceFailure, TransportFailure } from './failure.ts';
import { createServiceClient } from './service-client.ts';
import type { ClientOptions } from './session.ts';

const submission = { language: 'bash', code: 'true' };
const detail = whole('GET /v1/jobs/{id}', { job_id: 'job_1', status: 'queued' });
const folded = (status: string) => whole('GET /v1/jobs/{id}/result', { job_id: 'job_1', status });

function clientOf({ baseUrl }: ScriptedService, options: Partial<ClientOptions> = {}) {
  return createServiceClient({ baseUrl, apiKey: 'key-1', sleep: async () => {}, ...options });
}

describe('a request of the client', () => {
  test('carries the bearer credential, and encodes its query as the contract says', async () => {
    await using service = await scriptedService([json({ items: [], next_cursor: null })]);
    await clientOf(service).list({ limit: 3, cursor: 'a+b', status: ['failed', 'error'], language: 'node' });
    expect(service.seen[0]?.headers.authorization).toBe('Bearer key-1');
    expect(service.seen[0]?.url).toBe('/v1/jobs?limit=3&cursor=a%2Bb&status=failed%2Cerror&language=node');
  });

  test('keeps the path prefix of the service, and encodes a job id as one path segment', async () => {
    await using service = await scriptedService([json(detail)]);
    const client = createServiceClient({ baseUrl: `${service.baseUrl}/prefix/`, apiKey: null });
    await expect(client.detail('../whoami')).rejects.toThrow('another job');
    expect(service.seen[0]?.url).toBe('/prefix/v1/jobs/..%2Fwhoami');
    expect(service.seen[0]?.headers.authorization).toBeUndefined();
  });

  test.each(['.', '..'])('is not sent if an id or a name is %s, which cannot be a path segment', async (name) => {
    await using service = await scriptedService([]);
    const client = clientOf(service);
    const calls = [client.removeSession(name), client.cancel(name), client.revokeLink('job', name)];
    for (const { reason } of (await Promise.allSettled(calls)) as PromiseRejectedResult[])
      expect(reason).toEqual(new TypeError(`${name} is neither a name nor an id`));
    expect(service.seen).toEqual([]);
  });

  test.each(['../x', '.', '', 'a b', '-a', 'é', 'x'.repeat(65)])(
    'is not sent for a session with the name %j',
    async (name) => {
      await using service = await scriptedService([]);
      const message = 'a session has 1 to 64 letters, digits, ".", "_" and "-", and begins with a letter or a digit';
      await expect(clientOf(service).session(name)).rejects.toEqual(new TypeError(message));
      expect(service.seen).toEqual([]);
    },
  );

  test('opens no session after an abort, even if the reason for the abort is a refusal with session_not_found', async () => {
    const abort = new AbortController();
    const facts = {
      code: 'session_not_found',
      status: 404,
      retryable: false,
      requestId: null,
      retryAfterSeconds: null,
    };
    const reason = new ServiceFailure('there is no such session', facts);
    await using service = await scriptedService([() => abort.abort(reason)]);
    await expect(clientOf(service).session('s', { signal: abort.signal })).rejects.toBe(reason);
  });

  test('follows no redirect, so that the key stays with its service', async () => {
    await using other = await scriptedService([json(detail)]);
    await using service = await scriptedService([
      (response) => response.writeHead(307, { location: other.baseUrl }).end(),
    ]);
    await expect(clientOf(service).detail('job_1')).rejects.toMatchObject({ reason: 'unstructured', status: 307 });
    expect(other.seen).toEqual([]);
  });

  test("ends with the signal's reason if the signal aborts", async () => {
    const abort = new AbortController();
    await using service = await scriptedService([() => abort.abort(new Error('enough'))]);
    await expect(clientOf(service).detail('job_1', { signal: abort.signal })).rejects.toThrow('enough');
    expect(service.seen).toHaveLength(1);
  });

  test('fails as a timeout if there is no answer within its deadline', async () => {
    await using service = await scriptedService([() => {}]);
    const client = clientOf(service, { timeoutMilliseconds: 50, retry: { attemptsMax: 1 } });
    await expect(client.detail('job_1')).rejects.toMatchObject({ name: 'TransportFailure', reason: 'timeout' });
  });
});

describe('a refusal', () => {
  test("is a ServiceFailure with the service's whole answer", { tags: ['Errors-4'] }, async () => {
    await using service = await scriptedService([refusal(422, 'runtime_unavailable', { 'retry-after': '3' }, false)]);
    const error = await clientOf(service)
      .submit(submission)
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ServiceFailure);
    expect(error).toMatchObject({
      code: 'runtime_unavailable',
      status: 422,
      retryable: false,
      requestId: 'req_1',
      retryAfterSeconds: 3,
    });
  });

  test('is a TransportFailure with the status if it lacks the envelope', async () => {
    await using service = await scriptedService([(response) => response.writeHead(404).end('<h1>no</h1>')]);
    await expect(clientOf(service).detail('job_1')).rejects.toMatchObject({ reason: 'unstructured', status: 404 });
  });

  test('has a wait of zero if the date in Retry-After is in the past', async () => {
    await using service = await scriptedService([
      refusal(400, 'invalid_request', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, false),
    ]);
    await expect(clientOf(service).detail('job_1')).rejects.toMatchObject({ retryAfterSeconds: 0 });
  });
});

describe('a read of the client', () => {
  test('is tried again after a capacity refusal, once Retry-After is over, and after a lost connection', {
    tags: ['Transfer-6', 'Errors-27'],
  }, async () => {
    const pauses: number[] = [];
    await using service = await scriptedService([
      refusal(429, 'tenant_capacity_exhausted', { 'retry-after': '2' }),
      noAnswer,
      refusal(503, 'capacity_exhausted'),
      json(detail),
    ]);
    const sleep = async (milliseconds: number) => void pauses.push(milliseconds);
    await expect(clientOf(service, { sleep }).detail('job_1')).resolves.toEqual(detail);
    expect(service.seen).toHaveLength(4);
    expect(pauses[0]).toBeGreaterThanOrEqual(2000);
  });

  test('is tried again after a truncated answer, which is not parsed even if it begins with valid JSON', {
    tags: ['Transfer-5', 'E-18'],
  }, async () => {
    await using service = await scriptedService([cutShort(JSON.stringify(detail)), json(detail)]);
    await expect(clientOf(service).detail('job_1')).resolves.toEqual(detail);
    expect(service.seen).toHaveLength(2);
    await using always = await scriptedService([cutShort(JSON.stringify(detail))]);
    const client = clientOf(always, { retry: { attemptsMax: 2 } });
    await expect(client.detail('job_1')).rejects.toBeInstanceOf(TransportFailure);
    expect(always.seen).toHaveLength(2);
  });

  test.each([
    ['ends inside a chunk', 'Transfer-Encoding: chunked\r\n\r\n20\r\n{"job_id":"job_1"}'],
    ['ends before the last chunk', 'Transfer-Encoding: chunked\r\n\r\n12\r\n{"job_id":"job_1"}\r\n'],
    ['ends a byte early', 'Content-Length: 19\r\n\r\n{"job_id":"job_1"}'],
    ['ends before its body', 'Content-Length: 18\r\n\r\n'],
    ['ends inside its head', 'Content-Len'],
  ])('every operation refuses an answer that %s, and never parses it', async (_name, bytes) => {
    await using service = await scriptedService([
      (response) => response.socket?.end(`HTTP/1.1 200 OK\r\nX-Content-Sha256: ${'0'.repeat(64)}\r\n${bytes}`),
    ]);
    const client = clientOf(service, { retry: { attemptsMax: 1 } });
    const named = ['detail', 'result', 'replay', 'attestation', 'resultArtifact', 'cancel', 'streamTicket'] as const;
    for (const name of named) {
      await expect(client[name]('job_1')).rejects.toMatchObject({ name: 'TransportFailure', reason: 'network' });
    }
    await expect(client.submit(submission)).rejects.toMatchObject({ name: 'TransportFailure', reason: 'network' });
  });

  test('is tried again after an error from a proxy, no sooner than Retry-After states', async () => {
    const pauses: number[] = [];
    await using service = await scriptedService([
      (response) => response.writeHead(503, { 'retry-after': '3' }).end('<h1>soon</h1>'),
      (response) => response.writeHead(503, { 'retry-after': '61' }).end('<h1>later</h1>'),
    ]);
    const sleep = async (milliseconds: number) => void pauses.push(milliseconds);
    await expect(clientOf(service, { sleep }).detail('job_1')).rejects.toMatchObject({
      reason: 'unstructured',
      retryAfterSeconds: 61,
    });
    expect(pauses).toHaveLength(1);
    expect(pauses[0]).toBeGreaterThanOrEqual(3000);
  });

  test.each(['[1', '"text"', 'null', '\xff'])('an answer that is not a JSON object fails: %s', async (body) => {
    await using service = await scriptedService([(response) => response.end(Buffer.from(body, 'latin1'))]);
    await expect(clientOf(service).detail('job_1')).rejects.toMatchObject({ reason: 'undecodable' });
  });
});

test('the client requests capabilities with the last ETag, so that the service sends them only if they have changed', {
  tags: ['Bodies-8b'],
}, async () => {
  const said = (version: string, etag: string) => json(whole('GET /v1/capabilities', { version }), 200, { etag });
  const unchanged = (response: ServerResponse) => void response.writeHead(304).end();
  await using service = await scriptedService([said('1', '"a"'), unchanged, said('2', '"b"'), unchanged]);
  const client = createServiceClient({ baseUrl: service.baseUrl, apiKey: 'key-1' });
  const versions = [];
  for (let turn = 0; turn < 4; turn++) versions.push((await client.capabilities()).version);
  expect(versions).toEqual(['1', '1', '2', '2']);
  expect(service.seen.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"a"', '"a"', '"b"']);
});

describe('a submission of the client', () => {
  const answer = { job_id: 'job_1', status: 'queued' };

  test('is repeated with the same key and body if its answer is lost', { tags: ['Submit-7'] }, async () => {
    await using service = await scriptedService([noAnswer, json(answer, 201, { 'idempotency-replayed': 'true' })]);
    const submitted = await clientOf(service).submit(submission);
    expect(submitted).toMatchObject({ job_id: 'job_1', replayed: true });
    const [first, second] = service.seen;
    expect(first?.headers['idempotency-key']).toMatch(/^[0-9a-f]{32}$/);
    expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key']);
    expect(submitted.idempotencyKey).toBe(first?.headers['idempotency-key']);
    expect(second?.body).toBe(first?.body);
  });

  test('is sent only once without an idempotency key, because a job may exist even if the answer was lost', {
    tags: ['Submit-7'],
  }, async () => {
    for (const answered of [noAnswer, cutShort(JSON.stringify(answer)), refusal(503, 'capacity_exhausted')]) {
      await using service = await scriptedService([answered, json(answer, 201)]);
      await expect(clientOf(service).submit(submission, { idempotencyKey: null })).rejects.toBeInstanceOf(Error);
      expect(service.seen.map(({ headers }) => headers['idempotency-key'])).toEqual([undefined]);
    }
    await using service = await scriptedService([json(answer, 201)]);
    expect(await clientOf(service).submit(submission, { idempotencyKey: null })).toMatchObject({
      idempotencyKey: null,
    });
  });

  test("uses the caller's idempotency key, and otherwise makes a new key", async () => {
    await using service = await scriptedService([json(answer, 201, { 'idempotency-replayed': 'false' })]);
    const client = clientOf(service);
    await client.submit(submission, { idempotencyKey: 'mine' });
    await client.submit(submission);
    await client.submit(submission);
    const keys = service.seen.map(({ headers }) => headers['idempotency-key']);
    expect(keys[0]).toBe('mine');
    expect(new Set(keys).size).toBe(3);
  });

  test('is not repeated after a refusal that is not retryable', { tags: ['Errors-27'] }, async () => {
    await using service = await scriptedService([refusal(422, 'idempotency_key_reused', {}, false)]);
    await expect(clientOf(service).submit(submission)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    expect(service.seen).toHaveLength(1);
  });
});

describe('waiting for a result in the client', () => {
  test('requests the result again until the job is terminal', { tags: ['GetResult-8'] }, async () => {
    await using service = await scriptedService([
      json(folded('queued')),
      json(folded('running')),
      json(folded('failed')),
    ]);
    await expect(clientOf(service).waitForResult('job_1', { waitSeconds: 0.5 })).resolves.toMatchObject({
      status: 'failed',
    });
    expect(service.seen.map(({ url }) => url)).toEqual(Array(3).fill('/v1/jobs/job_1/result?wait_seconds=0.5'));
  });

  test('never requests a wait of more than the 300 seconds that the service allows', async () => {
    await using service = await scriptedService([json(folded('succeeded'))]);
    await clientOf(service).waitForResult('job_1', { waitSeconds: 900 });
    expect(service.seen[0]?.url).toContain('wait_seconds=300');
  });

  test('ends as a timeout if the job does not end', async () => {
    await using service = await scriptedService([json(folded('running'))]);
    const waiting = clientOf(service).waitForResult('job_1', { timeoutSeconds: 0.05 });
    await expect(waiting).rejects.toMatchObject({ reason: 'timeout' });
  });

  test.each([0, -1, Number.NaN])('asks only once if its timeout is %s', async (timeoutSeconds) => {
    await using service = await scriptedService([json(folded('running'))]);
    const waiting = clientOf(service).waitForResult('job_1', { timeoutSeconds });
    await expect(waiting).rejects.toMatchObject({ reason: 'timeout' });
    expect(service.seen.map(({ url }) => url)).toEqual(['/v1/jobs/job_1/result?wait_seconds=0']);
  });

  test('has no deadline if none is given, or if the given deadline is longer than any timer', async () => {
    const timeout = vi.spyOn(AbortSignal, 'timeout');
    await using service = await scriptedService([json(folded('succeeded'))]);
    const client = clientOf(service, { timeoutMilliseconds: 4321 });
    const deadlines = async (timeoutSeconds?: number) => {
      timeout.mockClear();
      await client.waitForResult('job_1', { timeoutSeconds });
      return timeout.mock.calls.flat().filter((milliseconds) => milliseconds !== 54_321);
    };
    expect(await deadlines()).toEqual([]);
    expect(await deadlines(1e9)).toEqual([]);
    expect(await deadlines(100)).toEqual([100_000]);
    timeout.mockRestore();
  });
});

describe('paging in the client', () => {
  const event = (seq: number, kind = 'stdout') => ({ job_id: 'job_1', seq, kind, data: { text: String(seq) } });

  test('continues from next_cursor, and never from a page that was cut short', { tags: ['Replay-6'] }, async () => {
    const second = { events: [event(3, 'finished')], next_cursor: null };
    await using service = await scriptedService([
      json({ events: [event(1), event(2)], next_cursor: 2 }),
      cutShort(JSON.stringify(second)),
      json(second),
    ]);
    const seqs: number[] = [];
    for await (const { seq } of clientOf(service).events('job_1', { limit: 2 })) seqs.push(seq);
    expect(seqs).toEqual([1, 2, 3]);
    const cursors = service.seen.map(({ url }) => new URLSearchParams(url.split('?')[1]).get('after'));
    expect(cursors).toEqual(['0', '2', '2']);
  });

  test('passes the cursor of the job list through unchanged', { tags: ['List-3'] }, async () => {
    await using service = await scriptedService([
      json(whole('GET /v1/jobs', { items: [{ job_id: 'job_2' }], next_cursor: 'opaque/=' })),
      json(whole('GET /v1/jobs', { items: [{ job_id: 'job_1' }], next_cursor: null })),
    ]);
    const ids: string[] = [];
    for await (const item of clientOf(service).listAll()) ids.push(item.job_id);
    expect(ids).toEqual(['job_2', 'job_1']);
    expect(service.seen[1]?.url).toBe('/v1/jobs?cursor=opaque%2F%3D');
  });
});

describe('readiness', () => {
  const checks = { store: true, provider: true, free_space: true, accepting: false };

  test('is read even if the service answers that it is not ready', async () => {
    await using service = await scriptedService([json({ status: 'unready', checks }, 503)]);
    expect(await clientOf(service).readiness()).toEqual({ status: 'unready', checks });
    expect(service.seen).toHaveLength(1);
  });

  test('is requested again after a refusal', async () => {
    const ready = json({ status: 'ready', checks: { ...checks, accepting: true } });
    await using service = await scriptedService([refusal(503, 'capacity_exhausted'), ready]);
    expect((await clientOf(service).readiness()).status).toBe('ready');
  });
});

describe('metrics', () => {
  const text = (response: ServerResponse) =>
    response.writeHead(200, { 'content-type': OPENMETRICS_MEDIA_TYPE }).end('svc_jobs 1\n# EOF\n');

  test("the client requests the tenant's metrics with the credential, in the chosen format", async () => {
    await using service = await scriptedService([text]);
    expect(await clientOf(service).metrics()).toEqual({
      mediaType: OPENMETRICS_MEDIA_TYPE,
      text: 'svc_jobs 1\n# EOF\n',
    });
    await clientOf(service).metrics({ format: 'prometheus' });
    expect(service.seen.map(({ url, headers }) => [url, headers.accept, headers.authorization])).toEqual([
      ['/v1/metrics', OPENMETRICS_MEDIA_TYPE, 'Bearer key-1'],
      ['/v1/metrics', PROMETHEUS_MEDIA_TYPE, 'Bearer key-1'],
    ]);
  });

  test("the client requests the service's metrics with the metrics token only", async () => {
    await using service = await scriptedService([text]);
    await clientOf(service).serviceMetrics('token-of-the-operator');
    expect(service.seen[0]).toMatchObject({
      url: '/metrics',
      headers: { authorization: 'Bearer token-of-the-operator' },
    });
  });
});

describe('the exact bytes of a signed document', () => {
  const bytes = '{"b":1,"a":2}';
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const serve = (digest?: string) =>
    scriptedService([
      (response) => response.writeHead(200, digest === undefined ? {} : { 'x-content-sha256': digest }).end(bytes),
    ]);

  test('are passed on unchanged, with their checked digest', { tags: ['Evidence-6'] }, async () => {
    await using service = await serve(sha256);
    const exact = await clientOf(service).resultArtifact('job_1');
    expect(new TextDecoder().decode(exact.bytes)).toBe(bytes);
    expect(exact.sha256).toBe(sha256);
  });

  test.each([
    ['missing', undefined],
    ['malformed', sha256.toUpperCase()],
    ['too short', sha256.slice(1)],
    ['of other bytes', createHash('sha256').update('other').digest('hex')],
  ])('bytes whose digest is %s are refused', { tags: ['Evidence-5'] }, async (_name, digest) => {
    await using service = await serve(digest);
    await expect(clientOf(service).attestation('job_1')).rejects.toMatchObject({ reason: 'digest' });
  });
});

test('a session is not opened if its signal aborts with null', async () => {
  await using service = await scriptedService([() => {}]);
  const opening = clientOf(service).session('a', { signal: AbortSignal.abort(null) });
  await expect(opening).rejects.toBe(null);
});

test('a client has no timeout if the given one is longer than any timer', async () => {
  await using service = await scriptedService([json(detail)]);
  for (const timeoutMilliseconds of [2 ** 31, Number.POSITIVE_INFINITY])
    await expect(clientOf(service, { timeoutMilliseconds }).detail('job_1')).resolves.toMatchObject({
      job_id: 'job_1',
    });
});

describe('a file that comes in pieces', () => {
  const bytes = Buffer.from('content');
  const blob = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  const file = (response: ServerResponse) => void response.end(bytes);
  const silent = () => void vi.advanceTimersByTime(60_000);

  test.each([
    ['was lost for longer than one try may take', noAnswer],
    ['did not answer some tries', silent],
  ])('comes from a service that %s if the client tolerates that', async (_what, lost) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      await using service = await scriptedService([...Array<typeof lost>(9).fill(lost), file]);
      const sleep = async () => void vi.advanceTimersByTime(10_000);
      const client = clientOf(service, { sleep, retry: { bearsLoss: true } });
      const pieces = await client.downloadPieces(blob, { hash: createHash('sha256') });
      expect(Buffer.concat(await Array.fromAsync(pieces))).toEqual(bytes);
    } finally {
      vi.useRealTimers();
    }
  });
});
