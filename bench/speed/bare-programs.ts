/**
 * The baselines of the speed benchmark, in a separate process with a private mount namespace: interpreters that Node spawns
 * directly, and the two runtimes started cold. The parent sends orders, and the process ends when its parent does.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BaselineProcess, plainConfiguration, serveOrders } from './baseline-process.ts';

/** The programs that run without the service. */
export const BARE = {
  python: ['/usr/bin/python3', '-c', 'print("hello")'],
  node: [process.execPath, '-e', 'console.log("hello")'],
  bash: ['/bin/bash', '-c', 'echo hello'],
  mebibyte: ['/usr/bin/python3', '-c', 'print((("x" * 1023) + "\\n") * 1023)'],
  flood: ['/bin/bash', '-c', `head -c ${64 * 2 ** 20} /dev/zero`],
} as const;

export type ColdRuntime = 'crun' | 'runsc';

/**
 * The order to run the same program this many times, with this many workers. Each worker makes one run at a time.
 */
export interface BareOrder {
  readonly run: { readonly bare: keyof typeof BARE } | { readonly cold: ColdRuntime; readonly of: keyof typeof BARE };
  readonly times: number;
  readonly workers: number;
}

export interface BareAnswer {
  /** How long each run took, from its start to the end of its output, in milliseconds. */
  readonly durations: readonly number[];
  readonly milliseconds: number;
}

export type BarePrograms = BaselineProcess<BareOrder, BareAnswer>;

/** Starts the process. */
export function startBarePrograms(): BarePrograms {
  return new BaselineProcess(fileURLToPath(import.meta.url));
}

async function obey({ run, times, workers }: BareOrder): Promise<BareAnswer> {
  const durations: number[] = [];
  const started = performance.now();
  let left = times;
  const worker = async () => {
    while (left-- > 0) durations.push('bare' in run ? await runBare(run.bare) : await runCold(run.cold, run.of));
  };
  await Promise.all(Array.from({ length: workers }, worker));
  return { durations, milliseconds: performance.now() - started };
}

function runBare(language: keyof typeof BARE): Promise<number> {
  return timed(BARE[language]);
}

/** Runs `RUNTIME run` with an existing bundle. Nothing is kept from an earlier run. */
async function runCold(runtime: ColdRuntime, language: keyof typeof BARE): Promise<number> {
  const id = `svc-bench-${randomUUID()}`;
  const state = join(bundles(), 'state');
  const flags =
    runtime === 'crun'
      ? ['--cgroup-manager=disabled', `--root=${state}`]
      : ['--network=none', '--ignore-cgroups', '--platform=systrap', `--root=${state}`];
  return await timed([`/usr/bin/${runtime}`, ...flags, 'run', '--bundle', bundle(language), id]);
}

function timed(command: readonly string[]): Promise<number> {
  const [file = '', ...words] = command;
  const started = performance.now();
  const child = spawn(file, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let [length, stderr] = [0, ''];
  child.stdout.on('data', (chunk: Buffer) => {
    length += chunk.length;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => {
      if (length > 0) resolve(performance.now() - started);
      else reject(new Error(`${command.join(' ')} printed nothing: ${stderr.slice(0, 500)}`));
    });
  });
}

let made: string | null = null;

function bundles(): string {
  if (made === null) {
    const directory = mkdtempSync(join(tmpdir(), 'svc-bench-bundles-'));
    process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
    made = directory;
  }
  return made;
}

const written = new Set<string>();

function bundle(language: keyof typeof BARE): string {
  const directory = join(bundles(), language);
  if (written.has(language)) return directory;
  written.add(language);
  for (const name of ['proc', 'dev', 'tmp', 'usr']) mkdirSync(join(directory, 'rootfs', name), { recursive: true });
  for (const name of ['bin', 'lib', 'lib64', 'sbin']) symlinkSync(`usr/${name}`, join(directory, 'rootfs', name));
  writeFileSync(join(directory, 'config.json'), plainConfiguration({ args: BARE[language], cwd: '/' }));
  return directory;
}

serveOrders(obey);
