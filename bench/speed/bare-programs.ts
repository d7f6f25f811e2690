/**
 * The baselines of the speed benchmark, as a separate process in a private mount namespace: interpreters spawned bare
 * from Node, and the two runtimes started cold. Its parent sends it orders, and it ends with its parent.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withinMountNamespace } from './mount-namespace.ts';

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
 * Runs the same thing this many times, with this many workers that each wait for one end before they start the next.
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

/** Starts the process. */
export function startBarePrograms(): BarePrograms {
  return new BarePrograms();
}

export class BarePrograms implements Disposable {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(fileURLToPath(import.meta.url), ['serve'], withinMountNamespace);
  }

  async order(order: BareOrder): Promise<BareAnswer> {
    const answered = new Promise<BareAnswer | { error: string }>((resolve, reject) => {
      this.#child.once('message', (answer) => resolve(answer as BareAnswer));
      this.#child.once('exit', () => reject(new Error('the baselines ended')));
    });
    this.#child.send(order);
    const answer = await answered;
    this.#child.removeAllListeners('exit');
    if ('error' in answer) throw new Error(answer.error);
    return answer;
  }

  [Symbol.dispose](): void {
    this.#child.disconnect();
  }
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

/** `RUNTIME run` of an existing bundle, with nothing kept from an earlier run. */
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

/** A plain bundle: namespaces, the host's /usr read-only, a tmpfs, and no more. */
function bundle(language: keyof typeof BARE): string {
  const directory = join(bundles(), language);
  if (written.has(language)) return directory;
  written.add(language);
  for (const name of ['proc', 'dev', 'tmp', 'usr']) mkdirSync(join(directory, 'rootfs', name), { recursive: true });
  for (const name of ['bin', 'lib', 'lib64', 'sbin']) symlinkSync(`usr/${name}`, join(directory, 'rootfs', name));
  writeFileSync(join(directory, 'config.json'), JSON.stringify(configuration(language)));
  return directory;
}

function configuration(language: keyof typeof BARE): object {
  return {
    ociVersion: '1.0.2',
    process: { terminal: false, user: { uid: 0, gid: 0 }, args: BARE[language], env: ['PATH=/usr/bin:/bin'], cwd: '/' },
    root: { path: 'rootfs', readonly: true },
    hostname: 'bench',
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755', 'size=64k'] },
      { destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev', 'size=32m'] },
      { destination: '/usr', type: 'bind', source: '/usr', options: ['rbind', 'ro'] },
    ],
    linux: { namespaces: ['pid', 'network', 'ipc', 'uts', 'mount'].map((type) => ({ type })) },
  };
}

if (process.argv[2] === 'serve') {
  process.on('message', (order: BareOrder) => {
    obey(order).then(
      (answer) => process.send?.(answer),
      (error: Error) => process.send?.({ error: error.message }),
    );
  });
}
