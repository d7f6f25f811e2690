/**
 * The processes of the HTTP benchmark: the service, the bare server and their client. Also reads the kernel's figures about each
 * process.
 */
import { type ChildProcess, fork, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Driven, Held, Order } from './load.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const bareServer = fileURLToPath(new URL('../../packages/server/test/bare-server.ts', import.meta.url));
const load = new URL('./load.ts', import.meta.url);

/** A server that listens. Disposing asks it to stop and waits until it has stopped. */
export interface Served extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
}

/** Starts `vouchbox serve` from a tree, with these settings as flags. Its log goes to a file, as on most hosts. */
export async function serveService(
  flags: Readonly<Record<string, string>>,
  directory: string,
  tree = ROOT,
): Promise<Served & { readonly dataDirectory: string }> {
  const given = { host: '127.0.0.1', port: '0', 'data-dir': directory, ...flags };
  const words = Object.entries(given).flatMap(([name, value]) => [`--${name}`, value]);
  const log = openSync(join(directory, 'log'), 'a');
  // This is the command itself, so Node gets the options that it usually gets.
  const command = join(tree, 'packages/cli/bin/vouchbox');
  return {
    ...(await served([command, 'serve', ...words], { stdio: ['ignore', 'pipe', log] })),
    dataDirectory: directory,
  };
}

/** Fastify alone. */
export function serveBare(): Promise<Served> {
  return served([process.execPath, bareServer], { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function served([file = '', ...words]: readonly string[], options: SpawnOptions): Promise<Served> {
  const child = spawn(file, words, options);
  const ended = once(child, 'exit');
  const port = await Promise.race([portOf(child), ended.then(() => null)]);
  if (port === null) throw new Error(`${file} ended before it listened`);
  return {
    port,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** The number at the end of the first line that a server prints. */
async function portOf({ stdout }: ChildProcess): Promise<number> {
  if (stdout === null) throw new Error('the server has no output');
  const [line] = (await once(createInterface(stdout), 'line')) as [string];
  return Number(/(\d+)$/.exec(line)?.[1]);
}

/** The client's process. Disposing ends it. */
export class Client implements Disposable {
  readonly #child = fork(load);

  /** Sends an order and waits for its result. */
  async order(order: Order & { kind: 'drive' }): Promise<Driven>;
  async order(order: Order & { kind: 'hold' | 'let go' }): Promise<Held>;
  async order(order: Order): Promise<Driven | Held> {
    this.#child.send(order);
    const [answer] = (await once(this.#child, 'message')) as [{ answer: Driven | Held } | { error: string }];
    if ('error' in answer) throw new Error(`the client failed: ${answer.error}`);
    return answer.answer;
  }

  [Symbol.dispose](): void {
    this.#child.disconnect();
  }
}

const ticksPerSecond = 100;

/** CPU time of a process with all its threads, in seconds. */
export function cpuSeconds(pid: number): number {
  return processorSeconds(pid).own;
}

/** CPU time of a process with all its threads, and of the children that it has waited for, in seconds. proc_pid_stat(5). */
export function processorSeconds(pid: number): { readonly own: number; readonly ended: number } {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number);
  return { own: (user + system) / ticksPerSecond, ended: (endedUser + endedSystem) / ticksPerSecond };
}

/** Processor time of the present threads, exact to the nanosecond. Calls can be compared only if no thread ended in between. */
export function threadSeconds(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const ran = threads.map((id) => Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'latin1').split(' ')[0]));
  return ran.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1e9;
}

/** How long a process's main thread ran, and how long it was ready to run but had no core, in seconds. */
export function mainThreadSeconds(pid: number): { readonly ran: number; readonly waited: number } {
  const [ran = 0, waited = 0] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ').map(Number);
  return { ran: ran / 1e9, waited: waited / 1e9 };
}

/** Resident memory of a process, in MiB. proc_pid_status(5). */
export function residentMib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) / 1024;
}
