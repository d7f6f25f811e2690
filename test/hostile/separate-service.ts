/**
 * A provider in a separate process, for attacks that need a special service: one with leaked descriptors, one started in a
 * terminal, one on a host that lacks something, or one whose resources are counted before and after its work.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Attack, HostileClass, Seen } from './hostile-case.ts';
import { launcherEnvironment } from './launchers.ts';
import { PROCESS_MILLISECONDS_MAX } from './size.ts';

/** A task for the process. The process answers with one JSON document. */
export type SeparateTask =
  | { readonly kind: 'attack'; readonly hostileClass: HostileClass; readonly attack: Attack }
  | { readonly kind: 'load'; readonly hostileClass: HostileClass; readonly jobs: number }
  | { readonly kind: 'open'; readonly hostileClass: HostileClass };

/** How the process for a task is started. */
export interface SeparateHost {
  /** Open paths whose descriptors are inherited by every process that the service starts. */
  readonly leaked?: readonly string[];
  /** True if the service has a controlling terminal. */
  readonly inTerminal?: true;
  /** Shell commands that, in a separate mount namespace, change what this process sees of its host. */
  readonly changes?: string;
  readonly millisecondsMax?: number;
}

const PROCESS = fileURLToPath(import.meta.resolve('./separate-service-process.ts'));
/** Node sets close-on-exec on inherited descriptors up to the first gap after 15. This number is beyond that gap. */
const LEAKED_FIRST = 40;
const IN_TERMINAL = ['python3', '-c', 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]))'];
/** With these options, V8 reserves no memory ahead of time, so memory grows only by what the work keeps. */
const OPTIONS = ['--expose-gc', '--max-semi-space-size=1'];

/** Runs an attack in a special service. */
export async function attackSeparately(hostileClass: HostileClass, attack: Attack, host: SeparateHost): Promise<Seen> {
  return (await doSeparately({ kind: 'attack', hostileClass, attack }, host)) as Seen;
}

/** Does a task in a separate process. If the process gives no answer, rejects with what it printed. */
export async function doSeparately(task: SeparateTask, host: SeparateHost): Promise<unknown> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-separate-'));
  try {
    writeFileSync(join(directory, 'task.json'), JSON.stringify(task));
    const printed = await run([process.execPath, ...OPTIONS, PROCESS, directory], host);
    try {
      return JSON.parse(readFileSync(join(directory, 'answer.json'), 'utf8')) as unknown;
    } catch {
      throw new Error(`the separate service gave no answer: ${printed}`);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function run(command: readonly string[], host: SeparateHost): Promise<string> {
  const { leaked = [], inTerminal, changes, millisecondsMax = PROCESS_MILLISECONDS_MAX } = host;
  const changed =
    changes === undefined ? [] : ['unshare', '--mount', 'sh', '-c', `set -e\n${changes}\nexec "$@"`, 'sh'];
  const [file, ...rest] = [...(inTerminal ? IN_TERMINAL : []), ...changed, ...command] as [string, ...string[]];
  const descriptors = leaked.map((path) => openSync(path, 'r'));
  const unused = Array.from({ length: LEAKED_FIRST - 3 }, () => 'ignore' as const);
  try {
    const child = spawn(file, rest, {
      stdio: ['ignore', 'pipe', 'pipe', ...unused, ...descriptors],
      env: {
        PATH: process.env['PATH'] ?? '',
        SECRET_HOST_ENV: `canary-${randomBytes(16).toString('hex')}`,
        ...launcherEnvironment(),
      },
      timeout: millisecondsMax,
      killSignal: 'SIGKILL',
    });
    const [{ stdout, stderr }] = await Promise.all([printedBy(child), once(child, 'close')]);
    return `${stdout}${stderr}`.slice(0, 4000);
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

async function printedBy(child: ReturnType<typeof spawn>): Promise<{ stdout: string; stderr: string }> {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('a child without pipes');
  const [out, err] = await Promise.all([text(stdout), text(stderr)]);
  return { stdout: out, stderr: err };
}
