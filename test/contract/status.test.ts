/** Spec § Other bodies: GET /v1/status shows the current state of the service. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServiceClient } from '@vouchbox/client';
import { describe, expect, test } from 'vitest';
import { Command } from '../rig/command.ts';
import { databaseOf } from '../rig/database.ts';
import { Rig, useRig } from '../rig/rig.ts';

/** The timeout for polls. They may take long if the host does other work. */
const soon = { timeout: 30_000 };
const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } } as const;

describe('the status of a service', () => {
  const rig = useRig({ provider: 'subprocess', concurrency: '1', 'queue-max': '9' });
  const status = () => rig().alpha.client.status();

  test('has the contract’s members, with the values for an idle service', {
    tags: ['Bodies-10', 'Bodies-13', 'Versioning-8'],
  }, async () => {
    const { nodes = [], last_hour, ...others } = await status();
    expect(last_hour).toBeDefined();
    expect(others).toEqual({
      status: 'ok',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/) as unknown,
      uptime_seconds: expect.any(Number) as unknown,
      queue: { depth: 0, capacity: 9, oldest_age_ms: null },
      running: 0,
      draining: false,
      signer: { enabled: false, outbox_depth: 0, last_error: null, last_error_at: null },
      log: null,
      canaries: [],
      provider: { backend: 'subprocess', isolation_class: 'none', ready: true, passed_over: null },
      parked: { cells: expect.any(Number) as unknown, mem_mb: expect.any(Number) as unknown, mem_mb_max: 256 },
      object_store: null,
    });
    // A service lists itself as a node if other nodes can share its store.
    const isShared = (await databaseOf(rig().dataDir)) !== null;
    expect(nodes.map(({ slots, claims }) => [slots, claims])).toEqual(isShared ? [[1, 0]] : []);
    const { uptime_seconds } = await status();
    expect((await status()).uptime_seconds).toBeGreaterThanOrEqual(uptime_seconds);
  });

  test('has figures for the last hour about the caller’s own jobs and the queue', {
    tags: ['Bodies-10e'],
  }, async () => {
    const rows = async (of: 'alpha' | 'beta') => (await rig()[of].client.status()).last_hour;
    const sum = (counts: readonly number[] = []) => counts.reduce((total, count) => total + count, 0);
    const before = sum((await rows('alpha'))?.ended.failed);
    const { job_id } = await rig().run({ language: 'bash', code: 'exit 3' });
    expect((await rig().alpha.client.detail(job_id)).status).toBe('failed');
    await expect.poll(async () => sum((await rows('alpha'))?.ended.failed), soon).toBe(before + 1);
    const hour = await rows('alpha');
    const minutes = hour?.queued.length ?? 0;
    expect(minutes).toBeGreaterThan(0);
    for (const numbers of [hour?.running, ...Object.values(hour?.ended ?? {}), hour?.wait_ms.p50, hour?.run_ms.p95])
      expect(numbers).toHaveLength(minutes);
    expect(hour?.wait_ms.p95.some((wait) => wait !== null)).toBe(true);
    expect(hour?.run_ms.p50.some((run) => run !== null)).toBe(true);
    expect(sum((await rows('beta'))?.ended.failed)).toBe(0);
  });

  test('has the number of parked cells, and their memory', { tags: ['Bodies-10'] }, async () => {
    await expect.poll(async () => (await status()).parked.cells, soon).toBeGreaterThanOrEqual(3);
    const { mem_mb, mem_mb_max } = (await status()).parked;
    expect(mem_mb).toBeGreaterThan(3);
    expect(mem_mb).toBeLessThanOrEqual(mem_mb_max);
  });

  test('has the numbers of all tenants’ waiting and running jobs, and the age of the oldest waiting job', {
    tags: ['Bodies-11'],
  }, async () => {
    const { alpha, beta } = rig();
    const running = await alpha.client.submit(sleeper);
    for await (const { kind } of alpha.client.follow(running.job_id)) if (kind === 'stdout') break;
    const queued = [await alpha.client.submit(sleeper), await beta.client.submit(sleeper)];
    const { queue, running: count } = await status();
    expect([queue.depth, queue.capacity, count]).toEqual([2, 9, 1]);
    const age = queue.oldest_age_ms ?? -1;
    expect(age).toBeGreaterThanOrEqual(0);
    await expect.poll(async () => (await status()).queue.oldest_age_ms, soon).toBeGreaterThan(age);
    // After this, only the younger job waits, so the status has that job's age.
    await alpha.client.cancel(queued[0]?.job_id ?? '');
    expect((await status()).queue.depth).toBe(1);
    await beta.client.cancel(queued[1]?.job_id ?? '');
    await alpha.client.cancel(running.job_id);
    await expect.poll(async () => (await status()).running, soon).toBe(0);
    expect((await status()).queue).toEqual({ depth: 0, capacity: 9, oldest_age_ms: null });
  });
});

test('a stopping service reports draining in its status, and unready in /readyz', {
  tags: ['Endpoints-4'],
}, async () => {
  const rig = await Rig.start({ provider: 'subprocess', concurrency: '1', 'drain-seconds': '60' });
  const { client } = rig.alpha;
  const { job_id } = await client.submit({
    language: 'bash',
    code: 'echo started; sleep 300',
    limits: { wall_seconds: 300 },
  });
  for await (const { kind } of client.follow(job_id)) if (kind === 'stdout') break;
  const stopped = rig.stop();
  expect(await client.status()).toMatchObject({ status: 'draining', draining: true, running: 1 });
  const readiness = await rig.request('/readyz', { key: null });
  expect([readiness.status, readiness.json.status, readiness.json.checks.accepting]).toEqual([503, 'unready', false]);
  expect((await rig.request('/healthz', { key: null })).status).toBe(200);
  const refused = await rig.post({ language: 'bash', code: 'true' });
  expect([refused.status, refused.json.error.code]).toEqual([503, 'shutting_down']);
  await client.cancel(job_id);
  expect(await stopped).toEqual([]);
});

/** Starts a command that cannot see runsc. */
const WITHOUT_RUNSC = [
  'unshare',
  '--mount',
  'sh',
  '-c',
  'mount --bind /dev/null "$(command -v runsc)" && exec "$@"',
  'sh',
];

test('a service that chose a weaker isolation class gives the reason in its status and in its log', {
  tags: ['Bodies-13'],
}, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-status-'));
  const env = { SERVICE_PORT: '0', SERVICE_DATA_DIR: dataDir, SERVICE_LEGACY_KEYS: 'alpha=key-of-alpha' };
  try {
    await using service = new Command(['serve'], { env, within: WITHOUT_RUNSC });
    const [, url = ''] = (await service.shows(/^listening on (\S+)$/m)) ?? [];
    const { provider } = await createServiceClient({ baseUrl: url, apiKey: 'key-of-alpha' }).status();
    expect(provider).toMatchObject({ backend: 'namespace', isolation_class: 'linux-shared-kernel' });
    expect(provider.passed_over).toMatch(/^gvisor: runsc is not installed/);
    expect(service.stderr).toContain('a stronger provider did not pass its preflight');
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});
