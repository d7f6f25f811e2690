/** A host that fails the service: its disk is full, its data directory is read-only, its log is torn. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, copyFileSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceFailure } from '@svc/client';
import { expect, test } from 'vitest';
import { auditJobs } from './audit.ts';
import { ServiceProcess } from './service-process.ts';
import { crashClient, Workload } from './workload.ts';

/** Says that something hangs, and not that the machine is busy. */
const patient = { timeout: 600_000 };
const FIXTURE = join(import.meta.dirname, '../../packages/server/src/store/migrations/fixtures/v4.db');

/** What a service that cannot start prints beside its log, which is JSON. */
async function refusal(service: ServiceProcess): Promise<string> {
  await expect(service.listening).rejects.toThrow(/ended before it listened/);
  expect((await service.exited).code).toBe(1);
  return service.said
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('{'))
    .join('\n');
}

test('a service whose data directory is read-only says so in one line', patient, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-read-only-'));
  copyFileSync(FIXTURE, join(dataDir, 'svc.db'));
  const mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"';
  await using service = new ServiceProcess({ dataDir, wrapper: ['unshare', '--mount', 'sh', '-c', mount, dataDir] });
  expect(await refusal(service)).toMatch(/^svc: [^\n]*read-only[^\n]*$/);
  rmSync(dataDir, { recursive: true });
});

/** A small disk of its own, which only those see who are started within it, and which outlives them. */
class SmallDisk implements AsyncDisposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'svc-small-'));
  readonly #holder: ChildProcess;

  private constructor() {
    const hold = 'mount -t tmpfs -o size=24m tmpfs "$0" && echo && exec cat';
    const words = ['--mount', 'sh', '-c', hold, this.directory];
    this.#holder = spawn('unshare', words, { stdio: ['pipe', 'pipe', 'inherit'] });
  }

  static async mount(): Promise<SmallDisk> {
    const disk = new SmallDisk();
    await once(disk.#holder.stdout as NonNullable<ChildProcess['stdout']>, 'data');
    return disk;
  }

  get wrapper(): readonly string[] {
    return ['nsenter', `--mount=/proc/${this.#holder.pid}/ns/mnt`, '--'];
  }

  /** Leaves no byte free. */
  fill(): void {
    const ballast = openSync(this.#seen('ballast'), 'w');
    const piece = new Uint8Array(4096);
    try {
      for (;;) writeSync(ballast, piece);
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
    } finally {
      closeSync(ballast);
    }
  }

  clear(): void {
    rmSync(this.#seen('ballast'));
  }

  #seen(name: string): string {
    return join(`/proc/${this.#holder.pid}/root`, this.directory, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#holder.stdin?.end();
    await once(this.#holder, 'exit');
    rmSync(this.directory, { recursive: true });
  }
}

test(
  'a service whose disk is full refuses what it cannot keep, keeps what it has, and goes on when there is room',
  patient,
  async () => {
    await using disk = await SmallDisk.mount();
    const surroundings = { dataDir: disk.directory, wrapper: disk.wrapper };
    const workload = new Workload(() => 0.5);
    {
      await using service = await ServiceProcess.start(surroundings);
      const client = crashClient(service.url);
      await workload.run(service.url, { clients: 1, jobsEach: 1 });
      const first = await client.waitForResult(String(workload.promises[0]?.job_id));
      disk.fill();
      const refused: unknown[] = [];
      while (refused.length < 3) {
        // What still fits into the log's last page is taken, and kept.
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
    // With a full disk it starts, or says in one line why it does not.
    await using onFullDisk = new ServiceProcess(surroundings);
    const url = await onFullDisk.listening.catch(() => null);
    const lines = url === null ? await refusal(onFullDisk) : 'svc: it started';
    expect(lines).toMatch(/^svc: [^\n]+$/);
    await onFullDisk.kill();
    disk.clear();
    await using service = await ServiceProcess.start(surroundings);
    expect((await auditJobs(service.url, workload.promises, ['internal_error'])).problems).toEqual([]);
    expect(await service.stop()).toBe(0);
  },
);

test('the tools that these tests stand on are there', () => {
  for (const tool of ['unshare', 'nsenter', 'strace', 'mkfifo']) {
    expect(spawnSync(tool, ['--version']).error).toBeUndefined();
  }
});
