/** The service as the speed benchmark starts it, and its programs. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JobSubmission } from '@vouchbox/protocol';
import { serveService } from '../http/processes.ts';
import type { Measurement } from '../measurement.ts';
import type { BarePrograms } from './bare-programs.ts';
import type { JobClient } from './job-client.ts';

export const TENANT = 'bench';
export const KEY = 'key-of-the-benchmark';

/** Raised budgets, because the measurements would exhaust the usual ones. All other settings have their defaults. */
export const FLAGS = {
  'legacy-keys': `${TENANT}=${KEY}`,
  'rate-per-second': '1000000',
  'rate-burst': '1000000',
  'queue-max': '1000000',
  'tenant-queue-max': '1000000',
  'free-space-reserve-mb': '0',
  'waits-max': '256',
  'tenant-waits-max': '256',
  'drain-seconds': '0',
};

export type ServedCells = Awaited<ReturnType<typeof serveService>>;

/** Some figures under one name, and how they are measured. */
export interface Figures {
  readonly what: string;
  measure(service: ServedCells, bare: BarePrograms): Promise<readonly Measurement[]>;
}

const HELLO = { python: 'print("hello")', node: 'console.log("hello")', bash: 'echo hello' } as const;

/** A program that says hello and ends. */
export function hello(language: keyof typeof HELLO): JobSubmission {
  return { language, code: HELLO[language] };
}

/** Uses a service with a new store. The store is removed afterwards. */
export async function withService<Found>(
  flags: Readonly<Record<string, string>>,
  work: (service: ServedCells) => Promise<Found>,
): Promise<Found> {
  using scratch = scratchDirectory();
  await using service = await serveService({ ...FLAGS, ...flags }, scratch.path);
  return await work(service);
}

export function scratchDirectory(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Runs a program and returns the milliseconds from its submission to its result. The program must succeed. */
export async function timedRun(client: JobClient, submission: JobSubmission): Promise<number> {
  const { milliseconds, result } = await client.timed(submission);
  if (result.status !== 'succeeded' || result.truncated || result.stdout.length === 0) {
    throw new Error(`a program ended ${result.status}: ${result.stderr.slice(0, 500)}`);
  }
  return milliseconds;
}

/** Runs all jobs, one at a time for each client. Returns how long they took together. */
export async function driven(clients: readonly JobClient[], submission: JobSubmission, jobs: number): Promise<number> {
  const started = performance.now();
  let left = jobs;
  const drive = async (client: JobClient) => {
    while (left-- > 0) await timedRun(client, submission);
  };
  await Promise.all(clients.map(drive));
  return performance.now() - started;
}
