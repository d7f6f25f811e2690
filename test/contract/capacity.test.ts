/** Spec § POST /v1/jobs 6, § Errors: a service without capacity refuses requests, and stores nothing from them. */

import { createServiceClient } from '@vouchbox/client';
import { describe, expect, test } from 'vitest';
import { type Answer, useRig } from '../rig/rig.ts';

const bash = { language: 'bash', code: 'true' };
const sleeper = { language: 'bash', code: 'sleep 300', limits: { wall_seconds: 300 } };

function expectLater(answer: Answer | undefined, status: number, code: string): void {
  expect([answer?.status, answer?.json.error.code]).toEqual([status, code]);
  expect(answer?.json.error.retryable).toBe(true);
  expect(answer?.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
}

describe('the queue', () => {
  const rig = useRig({ concurrency: '1', 'queue-max': '3', 'tenant-queue-max': '2' });

  test('accepts jobs up to the limit for one tenant and up to the limit for all tenants, and refuses one more', {
    tags: ['Submit-6', 'Errors-18'],
  }, async () => {
    const { alpha, beta } = rig();
    const running = await alpha.client.submit(sleeper);
    for await (const { kind } of alpha.client.follow(running.job_id)) if (kind === 'started') break;
    const made = [running.job_id];
    for (const key of [alpha.key, alpha.key]) made.push((await rig().post(sleeper, { key })).json.job_id);
    expectLater(await rig().post(sleeper), 429, 'tenant_capacity_exhausted');
    const other = await rig().post(sleeper, { key: beta.key });
    expect(other.status).toBe(201);
    expectLater(await rig().post(sleeper, { key: beta.key }), 503, 'queue_full');
    expect([await rig().jobCount(alpha), await rig().jobCount(beta)]).toEqual([3, 1]);

    for (const job_id of made.toReversed()) await alpha.client.cancel(job_id);
    await beta.client.cancel(other.json.job_id);
    await Promise.all(made.map((job_id) => rig().ended(job_id)));
    expect((await rig().run(bash)).result.status).toBe('succeeded');
  });
});

describe('the free-space reserve', () => {
  const rig = useRig({ 'free-space-reserve-mb': '1000000000' });

  test('makes the service refuse new jobs while less space is free; other requests are still answered', {
    tags: ['Submit-6b', 'Errors-21'],
  }, async () => {
    expectLater(await rig().post(bash), 507, 'insufficient_storage');
    expect(await rig().jobCount()).toBe(0);
    expect((await rig().request('/healthz', { key: null })).status).toBe(200);
  });

  test('makes /readyz name free_space as the reason why the service is not ready', {
    tags: ['Endpoints-4'],
  }, async () => {
    const { status, json } = await rig().request('/readyz', { key: null });
    expect([status, json]).toEqual([
      503,
      { status: 'unready', checks: { store: true, provider: true, free_space: false, accepting: true } },
    ]);
  });
});

describe('the request budget', () => {
  const rig = useRig({ 'rate-per-second': '0.01', 'rate-burst': '5' });

  test('is shared by a tenant’s reads and submissions, and does not affect other tenants', {
    tags: ['GetResult-7'],
  }, async () => {
    const answers: Answer[] = [];
    for (const path of ['/v1/whoami', '/v1/jobs', '/v1/capabilities', '/v1/jobs/job_1'])
      answers.push(await rig().request(path));
    answers.push(await rig().post(bash));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 404, 201]);
    expectLater(await rig().post(bash), 429, 'rate_limited');
    expectLater(await rig().request('/v1/whoami'), 429, 'rate_limited');
    expect((await rig().request('/v1/whoami', { key: rig().beta.key })).status).toBe(200);
    expect((await rig().request('/healthz', { key: null })).status).toBe(200);
  });
});

describe('a burst of runs', () => {
  const rig = useRig({
    provider: 'subprocess',
    'tenant-queue-max': '4',
    'tenant-waits-max': '4',
    'rate-per-second': '60',
    'rate-burst': '20',
  });

  test('returns every result to two clients that share one tenant’s limits', async () => {
    const { client, key } = rig().alpha;
    const other = createServiceClient({ baseUrl: rig().service.url, apiKey: key });
    const runs = Array.from({ length: 60 }, async (_, index) => {
      const { stdout } = await (index % 3 === 0 ? other : client).run(`echo ${index}`, { language: 'bash' });
      return Number(stdout);
    });
    expect(await Promise.all(runs)).toEqual(runs.map((_, index) => index));
    expect(await rig().jobCount()).toBe(60);
  });
});

describe('waits', () => {
  const rig = useRig({ 'waits-max': '3', 'tenant-waits-max': '2' });

  test('beyond the limit for one tenant or for all tenants are refused, and each wait that ends makes room for another', {
    tags: ['GetResult-6', 'Errors-17'],
  }, async () => {
    const { alpha, beta } = rig();
    const jobs = await Promise.all([alpha, beta].map(({ client }) => client.submit(sleeper)));
    const wait = (tenant: typeof alpha, seconds: number) =>
      rig().request(`/v1/jobs/${jobs[tenant === alpha ? 0 : 1]?.job_id}/result?wait_seconds=${seconds}`, {
        key: tenant.key,
      });
    /** Three waits begin together. A refused wait is answered at once, a held wait only when the job is cancelled. */
    const held = [wait(alpha, 60), wait(alpha, 60), wait(alpha, 60)];
    expectLater(await Promise.race(held), 429, 'tenant_capacity_exhausted');
    const others = [wait(beta, 60), wait(beta, 60)];
    expectLater(await Promise.race(others), 503, 'capacity_exhausted');
    // A request that does not wait can still read the result.
    expect((await wait(alpha, 0)).status).toBe(200);
    await Promise.all([alpha, beta].map(({ client }, index) => client.cancel(jobs[index]?.job_id ?? '')));
    const statuses = (await Promise.all([...held, ...others])).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 200, 200, 429, 503]);
    expect((await wait(alpha, 60)).json.status).toBe('cancelled');
  });
});
