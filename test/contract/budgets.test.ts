/**
 * Spec § Errors, § Limits: each tenant, and all tenants together, have budgets and permits. A request beyond
 * them is refused, and leaves nothing behind.
 */

import { connect, type Socket } from 'node:net';
import { openCredentials } from '@vouchbox/server';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { openTokenIssuer } from '../rig/access-tokens.ts';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { seriesOf } from '../rig/metric-series.ts';
import { type Answer, Rig, useRig } from '../rig/rig.ts';

const bash = { language: 'bash', code: 'true' } as const;
const soon = { timeout: 30_000 };

const issuer = await openTokenIssuer();
afterAll(() => issuer[Symbol.dispose]());

function expectLater(answer: Answer | undefined, status: number, code: string): void {
  expect([answer?.status, answer?.json.error.code, answer?.json.error.retryable]).toEqual([status, code, true]);
  expect(answer?.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
}

/** Permits in use, by kind. */
async function permitsHeld(rig: Rig): Promise<Record<string, number>> {
  const series = seriesOf((await rig.request('/metrics', { key: 'token-of-metrics' })).text);
  return Object.fromEntries(
    ['body', 'wait', 'stream', 'response'].map((kind) => [
      kind,
      series.get(`svc_permits_in_use{kind="${kind}"}`) ?? Number.NaN,
    ]),
  );
}

const NONE_HELD = { body: 0, wait: 0, stream: 0, response: 0 };

describe('the request budget', () => {
  const rig = useRig({ ...issuer.settings, provider: 'subprocess', 'rate-per-second': '0.5', 'rate-burst': '6' });

  slowTest(
    'is stated in every answer’s headers, and is shared by all of a tenant’s credentials and connections',
    {
      tags: ['Errors-16', 'Limits-27', 'AUTH-19'],
    },
    async () => {
      await using operator = await openCredentials({ dataDir: rig().dataDir });
      const issued = { tenant: 'delta', principal: null, scopes: null, expires_at: null };
      const keys = [
        (await operator.create(issued)).key,
        (await operator.create(issued)).key,
        await issuer.token({ tenant: 'delta', subject: 'ann' }),
      ];
      const began = performance.now();
      /** Tokens that the bucket may have gained by now: one every two seconds. */
      const flowedIn = () => Math.ceil((performance.now() - began) / 2000);
      const answers: Answer[] = [];
      for (const key of [...keys, ...keys]) answers.push(await rig().request('/v1/whoami', { key }));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
      const told = (name: string) => answers.map(({ headers }) => Number(headers.get(name)));
      expect(new Set(told('ratelimit-limit'))).toEqual(new Set([6]));
      const flowed = flowedIn();
      for (const [index, remaining] of told('ratelimit-remaining').entries()) {
        expect(remaining).toBeGreaterThanOrEqual(5 - index);
        expect(remaining).toBeLessThanOrEqual(5 - index + flowed);
      }
      expect(Math.max(...told('ratelimit-reset'))).toBeLessThanOrEqual(12);
      // The requests are concurrent, so even on a slow machine they take more tokens than the bucket gains meanwhile.
      const many = await Promise.all(
        Array.from({ length: 60 }, (_, index) => rig().request('/v1/whoami', { key: keys[index % 3] ?? '' })),
      );
      const refused = many.find(({ status }) => status === 429);
      expectLater(refused, 429, 'rate_limited');
      expect(Number(refused?.headers.get('retry-after'))).toBeLessThanOrEqual(2);
      expect(refused?.headers.get('ratelimit-remaining')).toBe('0');
      // Other tenants have their own budget, and public routes have none.
      expect((await rig().request('/v1/whoami', { key: rig().beta.key })).status).toBe(200);
      const health = await rig().request('/healthz', { key: null });
      expect([health.status, health.headers.get('ratelimit-limit')]).toEqual([200, null]);
      // The budget refills with time.
      await expect.poll(async () => (await rig().request('/v1/whoami', { key: keys[2] ?? '' })).status, soon).toBe(200);
    },
  );

  test('is not spent by requests without a credential', async () => {
    for (let index = 0; index < 20; index++) {
      expect((await rig().request('/v1/whoami', { key: `nobody-${index}` })).status).toBe(401);
    }
    expect((await rig().request('/v1/whoami')).status).toBe(200);
  });
});

describe('the idempotency key of a refused submission can be used again:', { tags: ['IDEM-07'] }, () => {
  /** Expects that the first retry of a refused submission makes a job, and that the second retry returns the same job. */
  async function expectUnused(rig: Rig, refused: Answer, retry: () => Promise<Answer>): Promise<void> {
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.headers.get('idempotency-replayed')).toBeNull();
    const count = await rig.jobCount();
    const created = await retry();
    expect([created.status, created.headers.get('idempotency-replayed')]).toEqual([201, 'false']);
    const replayed = await retry();
    expect([replayed.status, replayed.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(replayed.json.job_id).toBe(created.json.job_id);
    expect(await rig.jobCount()).toBe(count + 1);
  }

  const rig = useRig({ provider: 'subprocess', concurrency: '1', 'queue-max': '2', 'tenant-queue-max': '1' });
  const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });

  test.each<[number, string, unknown]>([
    [400, 'of its body', '{'],
    [400, 'of a member', { ...bash, surplus: 1 }],
    [400, 'of its language', { ...bash, language: 'cobol' }],
    [422, 'of its runtime', { ...bash, runtime: 'nowhere' }],
    [422, 'of its isolation', { ...bash, requirements: { minimum_isolation: 'hardware-vm' } }],
  ])('refused with %d because %s', async (status, name, body) => {
    const key = `key-${status}-${name.replaceAll(' ', '-')}`;
    const refused = await rig().post(body, keyed(key));
    expect(refused.status).toBe(status);
    await expectUnused(rig(), refused, () => rig().post(bash, keyed(key)));
    await expect.poll(async () => (await rig().alpha.client.status()).queue.depth, soon).toBe(0);
  });

  test('after a refusal with 429 or 503 because the queue is full', async () => {
    const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } } as const;
    const { alpha, beta } = rig();
    const running = await alpha.client.submit(sleeper);
    for await (const { kind } of alpha.client.follow(running.job_id)) if (kind === 'stdout') break;
    const waiting = await alpha.client.submit(sleeper);
    const ofTenant = await rig().post(bash, keyed('full-for-tenant'));
    expectLater(ofTenant, 429, 'tenant_capacity_exhausted');
    const other = await beta.client.submit(sleeper);
    await using operator = await openCredentials({ dataDir: rig().dataDir });
    const { key } = await operator.create({ tenant: 'gamma', principal: null, scopes: null, expires_at: null });
    const ofAll = await rig().post(bash, { key, ...keyed('full-for-all') });
    expectLater(ofAll, 503, 'queue_full');
    expect((await rig().request('/v1/jobs', { key })).json.items).toEqual([]);
    await alpha.client.cancel(waiting.job_id);
    await beta.client.cancel(other.job_id);
    await expectUnused(rig(), ofTenant, () => rig().post(bash, keyed('full-for-tenant')));
    const created = await rig().post(bash, { key, ...keyed('full-for-all') });
    expect([created.status, created.headers.get('idempotency-replayed')]).toEqual([201, 'false']);
    await alpha.client.cancel(running.job_id);
  });

  slowTest(
    'after a refusal with 507 for too little free space, once the service has started again with enough space',
    async () => {
      const full = await Rig.start({ provider: 'subprocess', 'free-space-reserve-mb': '1000000000' });
      const refused = await full.post(bash, keyed('no-room'));
      expectLater(refused, 507, 'insufficient_storage');
      expect(await full.jobCount()).toBe(0);
      expect(await full.stop('kept')).toEqual([]);
      const roomy = await Rig.start({ provider: 'subprocess' }, full.dataDir);
      await expectUnused(roomy, refused, () => roomy.post(bash, keyed('no-room')));
      expect(await roomy.stop()).toEqual([]);
    },
  );
});

describe('permits', () => {
  const rig = useRig({
    provider: 'subprocess',
    concurrency: '4',
    'metrics-token': 'token-of-metrics',
    'body-reads-max': '2',
    'tenant-body-reads-max': '1',
    'responses-max': '2',
    'tenant-responses-max': '1',
    'streams-max': '2',
    'tenant-streams-max': '1',
  });
  const sockets: Socket[] = [];
  let running: { alpha: string; beta: string };
  let gamma: string;
  beforeAll(async () => {
    await using operator = await openCredentials({ dataDir: rig().dataDir });
    gamma = (await operator.create({ tenant: 'gamma', principal: null, scopes: null, expires_at: null })).key;
    const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } } as const;
    running = {
      alpha: (await rig().alpha.client.submit(sleeper)).job_id,
      beta: (await rig().beta.client.submit(sleeper)).job_id,
    };
  });
  afterAll(async () => {
    await rig().alpha.client.cancel(running.alpha);
    await rig().beta.client.cancel(running.beta);
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    // After each test, no permit is in use.
    await expect.poll(() => permitsHeld(rig()), soon).toEqual(NONE_HELD);
  });

  /** Opens a connection and sends these bytes. After that, nothing is sent or read on the connection. */
  function sent(bytes: string): Socket {
    const socket = connect({ port: rig().port, host: '127.0.0.1' });
    socket.on('error', () => {});
    socket.pause();
    socket.write(bytes);
    sockets.push(socket);
    return socket;
  }

  const head = (line: string, key: string, more = '') =>
    `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${more}\r\n`;

  test('a request holds one permit from the tenant and one from the service while its body is read', {
    tags: ['Errors-17', 'Errors-25', 'Limits-9'],
  }, async () => {
    const { alpha, beta } = rig();
    const slow = (key: string) =>
      sent(head('POST /v1/jobs', key, 'Content-Type: application/json\r\nContent-Length: 100\r\n'));
    const first = slow(alpha.key);
    await expect.poll(async () => (await permitsHeld(rig()))['body'], soon).toBe(1);
    expectLater(await rig().post(bash), 429, 'tenant_capacity_exhausted');
    slow(beta.key);
    await expect.poll(async () => (await permitsHeld(rig()))['body'], soon).toBe(2);
    expectLater(await rig().post(bash, { key: gamma }), 503, 'capacity_exhausted');
    first.destroy();
    await expect.poll(async () => (await rig().post(bash)).status, soon).toBe(201);
  });

  slowTest(
    'an answer holds one permit from the tenant and one from the service until its last byte is sent',
    {
      tags: ['Transfer-2', 'Transfer-3'],
    },
    async () => {
      const { alpha, beta } = rig();
      const large = {
        language: 'bash',
        code: 'for i in 1 2; do head -c 2097152 /dev/urandom > output/$i; done',
        outputs: ['output/1', 'output/2'],
        limits: { max_file_mb: 8 },
      };
      const path = (job_id: string) => `/v1/jobs/${job_id}/result`;
      const jobs = [await rig().run(large, alpha), await rig().run(large, beta)].map(({ job_id }) => path(job_id));
      const first = sent(head(`GET ${jobs[0]}`, alpha.key));
      await expect.poll(async () => (await permitsHeld(rig()))['response'], soon).toBe(1);
      expectLater(await rig().request(jobs[0] ?? ''), 429, 'tenant_capacity_exhausted');
      sent(head(`GET ${jobs[1]}`, beta.key));
      await expect.poll(async () => (await permitsHeld(rig()))['response'], soon).toBe(2);
      const mine = (await rig().post(bash, { key: gamma })).json.job_id as string;
      expectLater(await rig().request(path(mine), { key: gamma }), 503, 'capacity_exhausted');
      // Small answers and requests that relieve the service need no permit.
      expect((await rig().request('/v1/whoami', { key: gamma })).status).toBe(200);
      expect((await rig().request(`/v1/jobs/${mine}`, { key: gamma, method: 'DELETE' })).status).toBe(200);
      first.destroy();
      await expect.poll(async () => (await rig().request(jobs[0] ?? '')).status, soon).toBe(200);
    },
  );

  test('an open stream holds one permit from the tenant and one from the service; a refused stream uses up its ticket', {
    tags: ['Stream-2', 'AUTH-11'],
  }, async () => {
    const { alpha, beta } = rig();
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
    const handshake = `${upgrade}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n`;
    const openStream = (job_id: string, key: string) => sent(head(`GET /v1/jobs/${job_id}/stream`, key, handshake));
    openStream(running.alpha, alpha.key);
    await expect.poll(async () => (await permitsHeld(rig()))['stream'], soon).toBe(1);
    const { json } = await rig().request(`/v1/jobs/${running.alpha}/stream-ticket`, { method: 'POST' });
    const redeem = async () => {
      const [answer] = await rig().raw(`GET ${json.stream_url} HTTP/1.1\r\nHost: x\r\n${handshake}\r\n`);
      return [answer?.status, (JSON.parse(answer?.body ?? '') as { error: { code: string } }).error.code];
    };
    expect(await redeem()).toEqual([429, 'tenant_capacity_exhausted']);
    // A program that uses a WebSocket cannot see the refusal, so this is a plain request.
    const plain = await rig().request(`/v1/jobs/${running.alpha}/stream`);
    expectLater(plain, 429, 'tenant_capacity_exhausted');
    expect(await redeem()).toEqual([401, 'unauthorized']);
    openStream(running.beta, beta.key);
    await expect.poll(async () => (await permitsHeld(rig()))['stream'], soon).toBe(2);
    const mine = (await rig().post(bash, { key: gamma })).json.job_id as string;
    const [refused] = await rig().raw(head(`GET /v1/jobs/${mine}/stream`, gamma, handshake));
    expect([refused?.status, refused?.headers['retry-after']]).toEqual([503, '1']);
  });
});
