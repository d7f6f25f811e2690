import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FoldedResult, SubmissionAnswer } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { slowTest, quickTest as test } from '../../../test/rig/form.ts';
import { type RunningService, startService } from './service.ts';
import { loadConfig } from './settings/config.ts';

let directory = '';
let ordinal = 0;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-service-'));
});
afterAll(() => rm(directory, { recursive: true }));

/** Starts a separate service with the provider that every host has, a new data directory and a free port. */
function start(flags: Record<string, string> = {}): Promise<RunningService> {
  const own = {
    port: '0',
    provider: 'subprocess',
    'data-dir': join(directory, `data-${ordinal++}`),
    'legacy-keys': 'acme=key-of-acme',
    'free-space-reserve-mb': '0',
    'drain-seconds': '0',
    'log-level': 'silent',
    'rate-per-second': '100000',
    'rate-burst': '100000',
  };
  return startService(loadConfig({}, { ...own, ...flags }));
}

async function call(service: RunningService, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: 'Bearer key-of-acme', 'content-type': 'application/json' };
  return await fetch(service.url + path, { headers, ...init });
}

async function submit(service: RunningService, code: string): Promise<SubmissionAnswer> {
  const response = await call(service, '/v1/jobs', {
    method: 'POST',
    body: JSON.stringify({ language: 'bash', code }),
  });
  expect(response.status).toBe(201);
  return (await response.json()) as SubmissionAnswer;
}

async function ended(service: RunningService, { result_url }: SubmissionAnswer): Promise<FoldedResult> {
  return (await (await call(service, `${result_url}?wait_seconds=60`)).json()) as FoldedResult;
}

describe('a service', () => {
  slowTest(
    'runs a job from its submission to its result, and keeps it over a restart',
    { tags: ['What-1'] },
    async () => {
      const flags = { 'data-dir': join(directory, 'kept') };
      const first = await start(flags);
      const answer = await submit(first, 'echo out; echo err >&2; exit 3');
      const result = await ended(first, answer);
      expect(result).toMatchObject({ status: 'failed', exit_code: 3, stdout: 'out\n', stderr: 'err\n' });
      await first.stop();
      await using second = await start(flags);
      expect(await ended(second, answer)).toEqual(result);
    },
  );

  test('states its version and its capabilities', async () => {
    await using service = await start({
      'ceiling-wall-seconds': '7',
      'concurrent-mem-mb-max': '512',
      'attestation-mode': 'off',
      'tenant-waits-max': '7',
      concurrency: '2',
    });
    expect(await (await call(service, '/v1/capabilities')).json()).toMatchObject({
      per_tenant: { waits_max: 7, queue_max: 64, requests_per_second: 100_000, requests_burst: 100_000 },
      isolation_class: 'none',
      languages: expect.arrayContaining(['bash']) as unknown,
      limits: { defaults: { wall_seconds: 7, mem_mb: 256 }, ceilings: { wall_seconds: 7, mem_mb: 512 } },
      artifacts: { max_files: 32, max_file_bytes: 2_097_152, max_total_bytes: 4_194_304 },
      concurrent_mem_mb_max: 512,
      signer: null,
    });
    expect(await (await call(service, '/v1/status')).json()).toMatchObject({
      status: 'ok',
      queue: { depth: 0, capacity: 256, oldest_age_ms: null },
      running: 0,
      draining: false,
      provider: { backend: 'subprocess', ready: true },
    });
    expect(await (await call(service, '/readyz')).json()).toEqual({
      status: 'ready',
      checks: { store: true, provider: true, free_space: true, accepting: true },
    });
  });

  slowTest(
    'a stopping service answers waits with shutting_down, ends running jobs, and leaves queued jobs queued',
    async () => {
      const flags = { 'data-dir': join(directory, 'stopped'), concurrency: '1' };
      const first = await start(flags);
      const running = await submit(first, 'echo begun; sleep 60');
      const queued = await submit(first, 'echo later');
      await begun(first, running);
      const waiting = call(first, `${running.result_url}?wait_seconds=60`);
      await Promise.all([first.stop(), first.stop()]);
      const refused = await waiting;
      expect(refused.status).toBe(503);
      expect(await refused.json()).toMatchObject({ error: { code: 'shutting_down', retryable: true } });
      await using second = await start(flags);
      expect(await ended(second, running)).toMatchObject({ status: 'error', stdout: 'begun\n', exit_code: null });
      expect(await ended(second, queued)).toMatchObject({ status: 'succeeded', stdout: 'later\n' });
    },
  );
});

/** Resolves once a running job has written output. */
async function begun(service: RunningService, { history_url }: SubmissionAnswer): Promise<void> {
  let kinds: string[] = [];
  while (!kinds.includes('stdout')) {
    const page = (await (await call(service, history_url)).json()) as { events: { kind: string }[] };
    kinds = page.events.map(({ kind }) => kind);
  }
}

describe('a start', () => {
  slowTest('a start on a port in use fails in one line, and runs nothing', async () => {
    await using service = await start();
    const flags = { 'data-dir': join(directory, 'unstarted'), port: String(service.port) };
    const failure = await start(flags).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: 'StartError',
      message: expect.stringContaining('the port is in use') as string,
    });
    await using retried = await start({ ...flags, port: '0' });
    expect(retried.port).toBeGreaterThan(0);
  });

  test('a start on the data of another running service fails in one line', async () => {
    const flags = { 'data-dir': join(directory, 'shared') };
    await using _first = await start(flags);
    const failure = await start(flags).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: 'StartError',
      message: expect.stringContaining('runs on this host already') as string,
    });
  });
});
