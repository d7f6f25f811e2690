/** Spec § What the service does 5: tenants take turns, however many jobs one tenant has queued. */

import { openCredentials } from '@vouchbox/server';
import { beforeAll, expect } from 'vitest';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { useRig } from '../rig/rig.ts';

const rig = useRig({ concurrency: '1', 'queue-max': '1100', 'tenant-queue-max': '1000' });
const quick = { language: 'bash', code: 'true' } as const;
const blocker = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } } as const;

let gamma: string;
beforeAll(async () => {
  await using operator = await openCredentials({ dataDir: rig().dataDir });
  gamma = (await operator.create({ tenant: 'gamma', principal: null, scopes: null, expires_at: null })).key;
});

/** Holds the only slot until the returned function is called. */
async function holdSlot(): Promise<() => Promise<unknown>> {
  const { client } = rig().alpha;
  const { job_id } = await client.submit(blocker);
  for await (const { kind } of client.follow(job_id)) if (kind === 'stdout') break;
  return () => client.cancel(job_id);
}

async function submitted(key: string, count: number): Promise<string[]> {
  const job_ids: string[] = [];
  for (let index = 0; index < count; index++) job_ids.push((await rig().post(quick, { key })).json.job_id as string);
  return job_ids;
}

async function startOf(job_id: string, key: string): Promise<string> {
  await rig().request(`/v1/jobs/${job_id}/result?wait_seconds=60`, { key });
  const { json } = await rig().request(`/v1/jobs/${job_id}`, { key });
  expect(json.status).toBe('succeeded');
  return json.started_at as string;
}

slowTest('a thousand queued jobs of one tenant do not delay the first job of another tenant', async () => {
  const release = await holdSlot();
  const { alpha, beta } = rig();
  const many = await submitted(alpha.key, 999);
  const status = await alpha.client.status();
  expect(status.queue.depth).toBe(999);
  const [first = ''] = await submitted(beta.key, 1);
  await release();
  const startedAt = await startOf(first, beta.key);
  // One of alpha's jobs may have run before beta's job, if alpha already had the turn.
  const before = [];
  for (const job_id of many.slice(0, 5)) {
    const { started_at } = await alpha.client.detail(job_id);
    if (started_at !== null && started_at < startedAt) before.push(job_id);
  }
  expect(before.length).toBeLessThanOrEqual(1);
  // Cancels alpha's jobs a few at a time, because the service allows 256 connections.
  for (let at = 0; at < many.length; at += 20) {
    await Promise.all(many.slice(at, at + 20).map((job_id) => alpha.client.cancel(job_id)));
  }
});

test("tenants take turns, and each tenant's jobs run in the order of their submission", {
  tags: ['What-5a'],
}, async () => {
  const release = await holdSlot();
  const keys = [rig().alpha.key, rig().beta.key, gamma];
  const jobs: { job_id: string; key: string; tenant: number; ordinal: number }[] = [];
  for (const [tenant, key] of keys.entries()) {
    for (const [ordinal, job_id] of (await submitted(key, 4)).entries()) jobs.push({ job_id, key, tenant, ordinal });
  }
  await release();
  const started = await Promise.all(
    jobs.map(async (job) => ({ ...job, started_at: await startOf(job.job_id, job.key) })),
  );
  const order = started.toSorted((a, b) => (a.started_at < b.started_at ? -1 : 1));
  for (const tenant of keys.keys()) {
    expect(order.filter((job) => job.tenant === tenant).map(({ ordinal }) => ordinal)).toEqual([0, 1, 2, 3]);
  }
  // Each tenant has one turn in every round.
  for (const round of [0, 1, 2, 3]) {
    const turns = order.slice(round * 3, round * 3 + 3).map(({ tenant }) => tenant);
    expect(new Set(turns)).toEqual(new Set([0, 1, 2]));
  }
});
