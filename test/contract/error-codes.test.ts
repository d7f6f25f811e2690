/**
 * Spec § Errors: every code in the table occurs over HTTP, with the table's status and `retryable`, and with
 * `Retry-After` if waiting helps. This file does not compile if it leaves out a code.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { bodyBytesMax, ERROR_CODES, ERRORS, type ErrorCode } from '@vouchbox/protocol';
import { openCredentials } from '@vouchbox/server';
import { beforeAll, expect, test } from 'vitest';
import { ServiceError } from '../../packages/server/src/ground/service-error.ts';
import { JOB, KEY_OF_ACME, openServer } from '../../packages/server/src/http/server.fixture.ts';
import { RawSocket } from '../../packages/server/src/http/socket.fixture.ts';
import { Rig, useRig } from '../rig/rig.ts';

const bash = { language: 'bash', code: 'true' } as const;
const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } } as const;

/** A service that signs and has room for more jobs. */
const rig = useRig({ provider: 'subprocess', 'attestation-mode': 'on', 'drain-seconds': '0' });
/** A service that does not sign. It has room for one running job, one queued job, and one wait for each tenant. */
const tight = useRig({
  provider: 'subprocess',
  concurrency: '1',
  'queue-max': '2',
  'tenant-queue-max': '1',
  'waits-max': '1',
  'tenant-waits-max': '1',
  'drain-seconds': '0',
});
const full = useRig({ provider: 'subprocess', 'free-space-reserve-mb': '1000000000' });
const spent = useRig({ provider: 'subprocess', 'rate-per-second': '0.01', 'rate-burst': '1' });

/** The members of a refusal. */
interface Refusal {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
}

type Answered = Awaited<ReturnType<Rig['request']>>;
const told = ({ status, headers, text }: Answered): Refusal => ({
  status,
  retryAfter: headers.get('retry-after'),
  text,
});

/** Sends bytes to a port and returns the first answer. */
async function raw(port: number, ...bytes: string[]): Promise<Refusal> {
  using socket = await RawSocket.open(port);
  const { status, headers, body } = await socket.send(...bytes).answer();
  return { status, retryAfter: headers['retry-after'] ?? null, text: body };
}

const head = (line: string, more = '', key = 'key-of-alpha') =>
  `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${more}\r\n`;
const JSON_TYPE = 'Content-Type: application/json\r\n';

/** A job whose program has made two tool calls, events 3 and 4, and waits for both answers. */
async function calling(): Promise<string> {
  const calls = [`{"call":1,"tool":"typed"}`, `{"call":2,"tool":"none"}`]
    .map((line) => `echo '${line}' >&31;`)
    .join(' ');
  const tools = [{ name: 'typed', result: { type: 'string' } }];
  const { job_id } = await rig().alpha.client.submit({
    ...sleeper,
    code: `${calls} read -r -u 30; read -r -u 30; sleep 300`,
    tools,
  });
  for await (const { seq } of rig().alpha.client.follow(job_id)) if (seq === 4) break;
  return job_id;
}

/** Answers a call from such a job, and then cancels the job. */
async function whileCalling(answer: (calls: string) => Promise<Answered>): Promise<Refusal> {
  const job_id = await calling();
  const refusal = told(await answer(`/v1/jobs/${job_id}/tool-calls`));
  await rig().alpha.client.cancel(job_id);
  return refusal;
}

const answering = (path: string, answer: object, key?: string) =>
  rig().request(path, { method: 'POST', body: JSON.stringify(answer), ...(key !== undefined && { key }) });

let running: string;
beforeAll(async () => {
  const { client } = rig().alpha;
  running = (await client.submit(sleeper)).job_id;
  for await (const { kind } of client.follow(running)) if (kind === 'stdout') break;
});

/** Takes the only slot and every place in the queue, and frees them afterwards. */
async function whileQueueIsFull(ask: (keyOfGamma: string) => Promise<Answered>): Promise<Refusal> {
  const { alpha, beta } = tight();
  const { job_id } = await alpha.client.submit(sleeper);
  for await (const { kind } of alpha.client.follow(job_id)) if (kind === 'stdout') break;
  const queued = [await alpha.client.submit(bash), await beta.client.submit(bash)];
  await using operator = await openCredentials({ dataDir: tight().dataDir });
  const { key } = await operator.create({ tenant: 'gamma', principal: null, scopes: null, expires_at: null });
  const refusal = told(await ask(key));
  await alpha.client.cancel(queued[0]?.job_id ?? '');
  await beta.client.cancel(queued[1]?.job_id ?? '');
  await alpha.client.cancel(job_id);
  await tight().ended(job_id);
  return refusal;
}

/** Begins an allowed wait by `alpha`, then one wait too many by `asker`. Returns the refusal of the second wait. */
async function whileAWaitIsHeld(asker: 'alpha' | 'beta'): Promise<Refusal> {
  const { alpha } = tight();
  const ids = { alpha: '', beta: '' };
  for (const tenant of ['alpha', 'beta'] as const) ids[tenant] = (await tight()[tenant].client.submit(sleeper)).job_id;
  const wait = (tenant: 'alpha' | 'beta') =>
    tight().request(`/v1/jobs/${ids[tenant]}/result?wait_seconds=300`, { key: tight()[tenant].key });
  const waits = [wait('alpha'), wait(asker)];
  // The service holds the first wait, and answers the second wait at once.
  const refused = await Promise.race(waits);
  for (const tenant of ['beta', 'alpha'] as const) await tight()[tenant].client.cancel(ids[tenant]);
  await Promise.all(waits);
  await tight().ended(ids.alpha, alpha);
  return told(refused);
}

async function whileStopping(): Promise<Refusal> {
  const stopping = await Rig.start({ provider: 'subprocess', 'drain-seconds': '60' });
  const { client } = stopping.alpha;
  const { job_id } = await client.submit(sleeper);
  for await (const { kind } of client.follow(job_id)) if (kind === 'stdout') break;
  const stopped = stopping.stop();
  const refusal = told(await stopping.post(bash));
  await client.cancel(job_id);
  expect(await stopped).toEqual([]);
  return refusal;
}

async function withoutSigningKey(): Promise<Refusal> {
  const own = await Rig.start({ provider: 'subprocess', 'attestation-mode': 'on' });
  rmSync(join(own.dataDir, 'attestation-keys', 'signing-key.pem'));
  const { job_id } = await own.run(bash);
  const refusal = told(await own.request(`/v1/jobs/${job_id}/attestation`));
  expect(await own.stop()).toEqual([]);
  return refusal;
}

/** A refusal of a token that cannot be checked because its issuer's keys are missing. */
async function withoutIssuerKeys(): Promise<Refusal> {
  const settings = { 'jwt-issuer': 'https://issuer.example', 'jwt-audience': 'svc', 'jwt-jwks': '/nowhere/keys.json' };
  const own = await Rig.start({ provider: 'subprocess', ...settings });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const refusal = told(
    await own.request('/v1/jobs', { key: `${part({ alg: 'ES256', typ: 'at+jwt' })}.${part({})}.AAAA` }),
  );
  expect((await own.request('/v1/jobs', { key: 'a.b.c' })).status).toBe(401);
  expect(await own.stop()).toEqual([]);
  return refusal;
}

const provoke: Readonly<Record<ErrorCode, () => Promise<Refusal>>> = {
  invalid_request: async () => told(await rig().post({ ...bash, surplus: 1 })),
  invalid_json: async () => told(await rig().post('{')),
  unsupported_language: async () => told(await rig().post({ ...bash, language: 'cobol' })),
  network_not_allowed: async () => told(await rig().post({ ...bash, limits: { allow_network: true } })),
  unauthorized: async () => told(await rig().request('/v1/jobs', { key: 'nobody' })),
  async insufficient_scope() {
    await using operator = await openCredentials({ dataDir: rig().dataDir });
    const issued = await operator.create({ tenant: 'alpha', principal: null, scopes: ['jobs:read'], expires_at: null });
    return told(await rig().post(bash, { key: issued.key }));
  },
  job_not_found: async () => told(await rig().request(`/v1/jobs/${running}`, { key: rig().beta.key })),
  principal_not_allowed: () =>
    whileCalling(async (calls) => {
      await using operator = await openCredentials({ dataDir: rig().dataDir });
      const asked = { tenant: 'alpha', principal: 'somebody', scopes: null, expires_at: null };
      return await answering(`${calls}/3`, { result: 'x' }, (await operator.create(asked)).key);
    }),
  tool_call_not_found: () => whileCalling((calls) => answering(`${calls}/4`, { result: 'x' })),
  tool_result_misfit: () => whileCalling((calls) => answering(`${calls}/3`, { result: 1 })),
  tool_call_answered: () =>
    whileCalling(async (calls) => {
      await answering(`${calls}/3`, { result: 'x' });
      return await answering(`${calls}/3`, { result: 'y' });
    }),
  async job_terminal() {
    const job_id = await calling();
    await rig().alpha.client.cancel(job_id);
    await rig().ended(job_id);
    return told(await answering(`/v1/jobs/${job_id}/tool-calls/3`, { result: 'x' }));
  },
  grading_not_found: async () => told(await rig().request('/v1/gradings/grading_x')),
  session_not_found: async () => told(await rig().request('/v1/sessions/none')),
  links_disabled: async () => told(await rig().request(`/v1/jobs/${running}/links`, { method: 'POST', body: '{}' })),
  link_not_found: async () => told(await rig().request(`/v1/jobs/${running}/links/none`, { method: 'DELETE' })),
  async session_conflict() {
    const begin = () => rig().post({ ...bash, session: { name: 'begun', after: null } });
    await begin();
    return told(await begin());
  },
  blob_not_found: async () => told(await rig().request(`/v1/blobs/sha256/${'0'.repeat(64)}`)),
  route_not_found: async () => told(await rig().request('/v1/nothing')),
  attestation_unavailable: withoutSigningKey,
  // A log refuses in this way only shortly after it got a job. `log.test.ts` has such a log.
  async log_proof_unavailable() {
    const early = new ServiceError('log_proof_unavailable', 'Not yet.', { retryAfterSeconds: 1 });
    await using server = await openServer({ jobs: { logProof: () => Promise.reject(early) } });
    return await raw(server.port, head(`GET /v1/jobs/${JOB}/log-proof`, '', KEY_OF_ACME));
  },
  async not_logged() {
    await using server = await openServer();
    return await raw(server.port, head(`GET /v1/jobs/${JOB}/log-proof`, '', KEY_OF_ACME));
  },
  // A promise is signed within milliseconds; `promise.test.ts` has a promise that is not signed yet.
  async promise_unavailable() {
    const early = new ServiceError('promise_unavailable', 'Not yet.', { retryAfterSeconds: 1 });
    await using server = await openServer({ jobs: { promise: () => Promise.reject(early) } });
    return await raw(server.port, head(`GET /v1/jobs/${JOB}/promise`, '', KEY_OF_ACME));
  },
  not_promised: async () => told(await rig().request(`/v1/jobs/${running}/promise`)),
  promise_not_offered: async () => told(await rig().post({ ...bash, promise: true })),
  async canary_not_found() {
    await using server = await openServer();
    return await raw(server.port, head(`GET /v1/jobs/${JOB}/canary`, '', KEY_OF_ACME));
  },
  // A signing key that is in no directory causes this refusal; `attestation.test.ts` in `job/view` has such a key.
  async signing_key_unknown() {
    const gone = new ServiceError('signing_key_unknown', 'No key.');
    await using server = await openServer({ jobs: { attestation: () => Promise.reject(gone) } });
    return await raw(server.port, head(`GET /v1/jobs/${JOB}/attestation`, '', KEY_OF_ACME));
  },
  attestation_disabled: async () => told(await tight().request('/v1/attestation/public-key')),
  method_not_allowed: async () => told(await rig().request('/v1/jobs', { method: 'PUT' })),
  // The real deadline is long, so this service has a shorter one.
  async body_timeout() {
    await using server = await openServer({ bounds: { bodyMilliseconds: 50 } });
    return await raw(server.port, head('POST /v1/jobs', `${JSON_TYPE}Content-Length: 9\r\n`, KEY_OF_ACME), '{');
  },
  job_not_terminal: async () => told(await rig().request(`/v1/jobs/${running}/attestation`)),
  payload_too_large: () =>
    raw(rig().port, head('POST /v1/jobs', `${JSON_TYPE}Content-Length: ${bodyBytesMax + 1}\r\n`)),
  unsupported_media_type: async () => told(await rig().post('x', { headers: { 'content-type': 'text/plain' } })),
  expectation_failed: () => raw(rig().port, head('GET /healthz', 'Expect: miracles\r\n')),
  runtime_unavailable: async () => told(await rig().post({ ...bash, runtime: 'nowhere' })),
  minimum_isolation_unsatisfied: async () =>
    told(await rig().post({ ...bash, requirements: { minimum_isolation: 'hardware-vm' } })),
  enforcement_unsatisfied: async () => told(await rig().post({ ...bash, requirements: { enforced: ['mem_mb'] } })),
  input_unavailable: async () =>
    told(await rig().post({ ...bash, files: [{ path: 'input/a', from: { job_id: 'job_x', path: 'output/a' } }] })),
  blob_unavailable: async () =>
    told(await rig().post({ ...bash, files: [{ path: 'input/a', blob: `sha256:${'0'.repeat(64)}` }] })),
  digest_mismatch: async () =>
    told(await rig().request(`/v1/blobs/sha256/${'0'.repeat(64)}`, { method: 'PUT', body: 'x' })),
  async idempotency_key_reused() {
    const headers = { 'idempotency-key': 'once' };
    expect((await rig().post(bash, { headers })).status).toBe(201);
    return told(await rig().post({ ...bash, stdin: '' }, { headers }));
  },
  async rate_limited() {
    expect((await spent().request('/v1/whoami')).status).toBe(200);
    return told(await spent().request('/v1/whoami'));
  },
  tenant_capacity_exhausted: () => whileAWaitIsHeld('alpha'),
  head_too_large: () => raw(rig().port, head('GET /healthz', `X: ${'x'.repeat(20_000)}\r\n`)),
  // No known request provokes this error, so the test makes a layer below HTTP fail.
  async internal() {
    await using server = await openServer({ jobs: { list: () => Promise.reject(new Error('a bug')) } });
    return await raw(server.port, head('GET /v1/jobs', '', KEY_OF_ACME));
  },
  queue_full: () => whileQueueIsFull((key) => tight().post(bash, { key })),
  capacity_exhausted: () => whileAWaitIsHeld('beta'),
  // A database that is gone provokes this error; `database-gone.test.ts` stops a real database.
  async store_unavailable() {
    const gone = new ServiceError('store_unavailable', 'No store.', { retryAfterSeconds: 5 });
    await using server = await openServer({ jobs: { list: () => Promise.reject(gone) } });
    return await raw(server.port, head('GET /v1/jobs', '', KEY_OF_ACME));
  },
  issuer_unavailable: withoutIssuerKeys,
  // A missing runtime provokes this error; `serve.test.ts` removes a real runtime.
  async worker_unavailable() {
    const gone = new ServiceError('worker_unavailable', 'No cell.', { retryAfterSeconds: 5 });
    await using server = await openServer({ jobs: { submit: () => Promise.reject(gone) } });
    const bytes = `${head('POST /v1/jobs', `${JSON_TYPE}Content-Length: 2\r\n`, KEY_OF_ACME)}{}`;
    return await raw(server.port, bytes);
  },
  shutting_down: whileStopping,
  insufficient_storage: async () => told(await full().post(bash)),
};

test.each(ERROR_CODES)(
  'a refusal with %s has the table’s status, and Retry-After if waiting helps',
  { tags: ['Submit-6c', 'Evidence-7', 'Evidence-8', 'Authentication-2e', 'Errors-4', 'Errors-12'] },
  async (code) => {
    const { status, retryAfter, text } = await provoke[code]();
    const { error } = JSON.parse(text) as { error: { code: string; retryable: boolean } };
    const { status: tabled, retryable } = ERRORS[code];
    expect([status, error.code, error.retryable]).toEqual([tabled, code, retryable]);
    // If waiting helps, the answer says how long. Waiting does not help after `body_timeout` or `internal`.
    const says = /^[1-9]\d*$/.test(retryAfter ?? '');
    expect(says).toBe(retryable && code !== 'body_timeout' && code !== 'internal');
  },
);

test('a tenant that has used its share of the queue gets 429, not 503', {
  tags: ['Submit-6a', 'Errors-17'],
}, async () => {
  const refusal = await whileQueueIsFull(() => tight().post(bash));
  expect([refusal.status, (JSON.parse(refusal.text) as { error: { code: string } }).error.code]).toEqual([
    429,
    'tenant_capacity_exhausted',
  ]);
});
