/**
 * Breaks the service at one exact write after another: the kernel's answer to the n-th call of its ledger is replaced by
 * an error, or by the end of the process (strace(1), `inject`). Between the first write of a submission and the last of
 * its attestation no step is left out, and none needed a hook in the service.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceFailure, TransportFailure } from '@svc/client';
import { leftoversOf } from '../rig/leftovers.ts';
import { auditJobs } from './audit.ts';
import { ServiceProcess } from './service-process.ts';
import { crashClient, Workload } from './workload.ts';

/** What happens at the n-th call. An error goes on happening at every later call; the end of the process does not. */
export const FAULTS = {
  'killed before it syncs': { call: 'fsync', inject: (n: number) => `fsync:signal=KILL:when=${n}` },
  'killed before it writes': { call: 'pwrite64', inject: (n: number) => `pwrite64:signal=KILL:when=${n}` },
  'told that syncing failed': { call: 'fsync', inject: (n: number) => `fsync:error=EIO:when=${n}+` },
  'told that the disk is full': { call: 'pwrite64', inject: (n: number) => `pwrite64:error=ENOSPC:when=${n}+` },
} as const;
export type Fault = keyof typeof FAULTS;

/** How many such calls one thread of the service makes before it listens, and in all, for one job from end to end. */
export interface CallCount {
  readonly beforeListening: number;
  readonly inAll: number;
}

/** Counts the calls of an undisturbed run. */
export async function countCalls(call: 'fsync' | 'pwrite64'): Promise<CallCount> {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-faults-'));
  const log = join(dataDir, 'trace');
  try {
    await using service = await ServiceProcess.start({ dataDir, wrapper: strace(call, log) });
    const beforeListening = callsOfBusiestThread(log, call);
    const workload = new Workload(() => 0.5);
    await workload.run(service.url, { clients: 1, jobsEach: 1 });
    await auditJobs(service.url, workload.promises);
    const inAll = callsOfBusiestThread(log, call);
    await service.stop();
    return { beforeListening, inAll };
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Runs one job against a service with a fault at its n-th call, starts it again without, and names every broken promise. */
export async function breakAt(fault: Fault, n: number): Promise<readonly string[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-faults-'));
  try {
    const workload = new Workload(() => 0.5);
    await liveThrough(fault, { n, dataDir, workload });
    await using service = await ServiceProcess.start({ dataDir });
    await workload.settle(service.url);
    const { problems } = await auditJobs(service.url, workload.promises, ['server_restarted', 'internal_error']);
    const code = await service.stop();
    const left = leftoversOf(dataDir).map((name) => `left behind: ${name}`);
    return [...problems, ...left, ...(code === 0 ? [] : [`the service stopped with exit code ${code}`])];
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

interface Life {
  readonly n: number;
  readonly dataDir: string;
  readonly workload: Workload;
}

/** One life of the service with its fault: it refuses, ends or goes on, but it does not hang. */
async function liveThrough(fault: Fault, { n, dataDir, workload }: Life): Promise<void> {
  const { call, inject } = FAULTS[fault];
  const wrapper = strace(call, '/dev/null', inject(n));
  let service: ServiceProcess;
  try {
    service = await ServiceProcess.start({ dataDir, wrapper });
  } catch {
    return; // It did not get as far as listening, and said so.
  }
  try {
    await workload.run(service.url, { clients: 1, jobsEach: 1 });
    await waitForEnd(service.url, workload);
  } catch (error) {
    if (!(error instanceof ServiceFailure || error instanceof TransportFailure)) throw error;
  }
  await service.kill();
}

async function waitForEnd(url: string, workload: Workload): Promise<void> {
  const client = crashClient(url);
  for (const { job_id } of workload.promises) {
    if (job_id !== null) await client.result(job_id, { waitSeconds: 3 });
  }
}

/** `-D` leaves the service the child of whoever started it, so that a signal reaches it and not its tracer. */
function strace(call: string, log: string, inject?: string): readonly string[] {
  const injection = inject === undefined ? [] : ['-e', `inject=${inject}`];
  return ['strace', '-D', '-f', '--seccomp-bpf', '-qq', '-o', log, '-e', `trace=${call}`, ...injection];
}

/** strace counts calls thread by thread, and one thread of the service writes the ledger. */
function callsOfBusiestThread(log: string, call: string): number {
  const counts = new Map<string, number>();
  for (const [, thread] of readFileSync(log, 'utf8').matchAll(new RegExp(`^(\\d+) +${call}\\(`, 'gm'))) {
    counts.set(thread as string, (counts.get(thread as string) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values());
}
