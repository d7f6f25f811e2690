/** A service on a faulty host: the disk is full, the data directory is read-only, or the store's log is torn. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceFailure } from '@vouchbox/client';
import { expect, test } from 'vitest';
import { isLongForm } from '../rig/form.ts';
import { auditJobs } from './audit.ts';
import { ServiceProcess } from './service-process.ts';
import { SmallDisk } from './small-disk.ts';
import { Witness } from './witness.ts';
import { crashClient, Workload } from './workload.ts';

/** Long enough that a timeout means a hang and not a busy machine. */
const patient = { timeout: 600_000 };
const FIXTURE = join(import.meta.dirname, '../../packages/server/src/store/sqlite/migrations/fixtures/v0.3.db');

/** What a service that cannot start prints, without the lines of its log. These lines are JSON. */
async function refusal(service: ServiceProcess): Promise<string> {
  await expect(service.listening).rejects.toThrow(/ended before it listened/);
  expect((await service.exited).code).toBe(1);
  return service.said
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('{'))
    .join('\n');
}

test('a service with a read-only data directory reports this in one line', patient, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-read-only-'));
  copyFileSync(FIXTURE, join(dataDir, 'svc.db'));
  const mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"';
  await using service = new ServiceProcess({ dataDir, wrapper: ['unshare', '--mount', 'sh', '-c', mount, dataDir] });
  expect(await refusal(service)).toMatch(/^vouchbox: [^\n]*read-only[^\n]*$/);
  rmSync(dataDir, { recursive: true });
});

test.runIf(isLongForm)(
  'a service with a full disk refuses what it cannot store, keeps the rest, and continues once there is room',
  patient,
  async () => {
    await using disk = await SmallDisk.mount(24);
    const surroundings = { dataDir: disk.directory, wrapper: disk.wrapper };
    await using witness = await Witness.open();
    const workload = new Workload(() => 0.5, witness);
    {
      await using service = await ServiceProcess.start(surroundings);
      const client = crashClient(service.url);
      await workload.run(service.url, { clients: 1, jobsEach: 1 });
      const first = await client.waitForResult(String(workload.promises[0]?.job_id));
      disk.fill();
      const refused: unknown[] = [];
      while (refused.length < 3) {
        // The service may still accept and store jobs that fit into the last page of the store's log.
        await workload.run(service.url, { clients: 1, jobsEach: 1 }).catch((error: unknown) => refused.push(error));
      }
      for (const error of refused) {
        expect(error).toBeInstanceOf(ServiceFailure);
        expect(error).toMatchObject({ status: 507, code: 'insufficient_storage' });
      }
      expect(await client.result(first.job_id)).toEqual(first);
      disk.clear();
      await workload.settle(service.url);
      expect((await auditJobs(service.url, workload.promises, ['internal_error'])).problems).toEqual([]);
      disk.fill();
      await service.kill();
    }
    // With a full disk, the service either starts or says in one line why it does not.
    await using onFullDisk = new ServiceProcess(surroundings);
    const url = await onFullDisk.listening.catch(() => null);
    const lines = url === null ? await refusal(onFullDisk) : 'vouchbox: it started';
    expect(lines).toMatch(/^vouchbox: [^\n]+$/);
    await onFullDisk.kill();
    disk.clear();
    await using service = await ServiceProcess.start(surroundings);
    expect((await auditJobs(service.url, workload.promises, ['internal_error'])).problems).toEqual([]);
    expect(await service.stop()).toBe(0);
  },
);

/** Writes 480 KiB that compress badly. The store has this output twice: in the events and in the result. */
const WRITER = { language: 'bash', code: 'head -c 368640 /dev/urandom | base64 -w 0' } as const;

test('jobs wait while the disk has only the free-space reserve left, and all succeed once the disk is larger', {
  ...patient,
  tags: ['RES-31'],
}, async () => {
  await using disk = await SmallDisk.mount(12);
  await using service = await ServiceProcess.start({
    dataDir: disk.directory,
    wrapper: disk.wrapper,
    environment: { SERVICE_FREE_SPACE_RESERVE_MB: '4' },
  });
  const client = crashClient(service.url);
  const job_ids: string[] = [];
  const submissions = Array.from({ length: 44 }, () =>
    client.submit(WRITER).then(
      ({ job_id }) => job_ids.push(job_id),
      (error: unknown) => expect(error).toMatchObject({ status: 507, code: 'insufficient_storage' }),
    ),
  );
  await Promise.all(submissions);
  await expect.poll(async () => (await client.readiness()).checks.free_space, { timeout: 60_000 }).toBe(false);
  await expect.poll(async () => (await client.status()).running, { timeout: 60_000 }).toBe(0);
  const { queue } = await client.status();
  expect(queue.depth).toBeGreaterThan(0);
  expect((await client.list({ status: ['failed', 'error'] })).items).toEqual([]);
  const refused: unknown = await client.submit(WRITER).catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 507, code: 'insufficient_storage' });

  disk.grow(256);
  for (const job_id of job_ids) {
    const { status, stdout } = await client.waitForResult(job_id);
    expect([job_id, status, stdout.length]).toEqual([job_id, 'succeeded', 491_520]);
  }
  expect((await client.readiness()).status).toBe('ready');
  expect(await service.stop()).toBe(0);
});

test('the tools that these tests need are installed', () => {
  for (const tool of ['unshare', 'nsenter', 'strace', 'mkfifo']) {
    expect(spawnSync(tool, ['--version']).error).toBeUndefined();
  }
});
