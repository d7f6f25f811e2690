/**
 * The conversation with one launcher, a small process that forks cells of one language and runtime pack (`launcher.h`).
 * It starts when the first cell is asked for and again after it has died; its cells die with it.
 */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';

const DIAGNOSTICS_CHARS_MAX = 4096;
/** How long a launcher may take until it serves: a zygote starts an interpreter. */
const READY_MILLISECONDS_MAX = 10_000;

/** Process 1 of a cell, waiting for a job. */
export interface LaunchedProcess {
  /** Its id on the host, and nobody else's until it is forgotten. */
  readonly pid: number;
  /** Resolves once it has ended, and everything of its cell with it. Never rejects. */
  readonly ended: Promise<void>;
  /** Says that nobody looks at the process any more. Called once. */
  readonly forget: () => void;
}

export interface LauncherOptions {
  /** The built launcher. */
  readonly program: string;
  /** Lines, as `configuration.c` reads them. */
  readonly configuration: readonly string[];
}

interface Pending {
  readonly made: (process: LaunchedProcess) => void;
  readonly refused: (reason: Error) => void;
}

/** Makes cells until it is disposed. */
export class Launcher implements AsyncDisposable {
  readonly #options: LauncherOptions;
  #serving: Promise<Serving> | null = null;
  #isClosed = false;

  constructor(options: LauncherOptions) {
    this.#options = options;
  }

  /**
   * Makes a cell whose control groups are there under `id`. `rootUid` and the next id are its users on the host.
   * Rejects, with nothing left of it, where the cell or the launcher could not be made.
   */
  async make(id: string, rootUid: number): Promise<LaunchedProcess> {
    if (this.#isClosed) throw new Error('the launcher is closed');
    this.#serving ??= this.#start();
    const serving = await this.#serving;
    return await serving.make(id, rootUid);
  }

  /** Ends the launcher and with it every cell it made. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const serving = await this.#serving?.catch(() => null);
    await serving?.close();
  }

  #start(): Promise<Serving> {
    const serving = Serving.start(this.#options, () => {
      if (this.#serving === serving) this.#serving = null;
    });
    serving.catch(() => {
      if (this.#serving === serving) this.#serving = null;
    });
    return serving;
  }
}

/** One process of a launcher, from its start to its end. */
class Serving {
  readonly #child: ChildProcess;
  readonly #input: Writable;
  readonly #pending = new Map<string, Pending>();
  readonly #running = new Map<string, () => void>();
  readonly #exited: Promise<void>;
  readonly #ready = Promise.withResolvers<void>();
  #said = '';
  #rest = '';

  static async start({ program, configuration }: LauncherOptions, onEnd: () => void): Promise<Serving> {
    const child = spawn(program, [], { stdio: ['pipe', 'pipe', 'pipe', 'pipe'], env: {}, cwd: '/', detached: true });
    const serving = new Serving(child, onEnd);
    const description = child.stdio[3] as Writable;
    description.on('error', () => {}); // The launcher may be gone: its exit says so.
    description.end(`${configuration.join('\n')}\n`);
    const tooLate = setTimeout(() => child.kill('SIGKILL'), READY_MILLISECONDS_MAX);
    try {
      await serving.#ready.promise;
      return serving;
    } finally {
      clearTimeout(tooLate);
    }
  }

  private constructor(child: ChildProcess, onEnd: () => void) {
    const { stdin, stdout, stderr } = child as ChildProcessWithoutNullStreams;
    this.#child = child;
    this.#input = stdin.on('error', () => {});
    this.#exited = new Promise((resolve) => child.once('close', () => resolve()).once('error', () => resolve()));
    stdout.setEncoding('latin1').on('data', (text: string) => this.#hear(text));
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(0, DIAGNOSTICS_CHARS_MAX);
    });
    child.once('error', (error) => this.#end(error));
    child.once('close', () => {
      onEnd();
      this.#end(new Error(`the launcher ended: ${this.#said.trim() || (child.signalCode ?? child.exitCode)}`));
    });
  }

  make(id: string, rootUid: number): Promise<LaunchedProcess> {
    const { promise, resolve, reject } = Promise.withResolvers<LaunchedProcess>();
    this.#pending.set(id, { made: resolve, refused: reject });
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#input.write(`cell ${id} ${rootUid}\n`);
    else this.#refuse(id, 'the launcher ended');
    return promise;
  }

  async close(): Promise<void> {
    this.#input.end();
    await this.#exited;
  }

  #hear(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#take(line);
  }

  #take(line: string): void {
    const [word = '', id = '', ...rest] = line.split(' ');
    switch (word) {
      case 'ready':
        this.#ready.resolve();
        break;
      case 'made':
        this.#made(id, Number(rest[0]));
        break;
      case 'refused':
        this.#refuse(id, rest.join(' '));
        break;
      case 'ended':
        this.#ended(id);
        break;
      default:
        this.#child.kill('SIGKILL');
    }
  }

  #made(id: string, pid: number): void {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    this.#running.set(id, resolve);
    this.#pending.get(id)?.made({ pid, ended, forget: () => this.#input.write(`forget ${id}\n`) });
    this.#pending.delete(id);
  }

  #refuse(id: string, reason: string): void {
    this.#pending.get(id)?.refused(new Error(reason));
    this.#pending.delete(id);
  }

  #ended(id: string): void {
    this.#running.get(id)?.();
    this.#running.delete(id);
  }

  /** Every cell ends with its launcher, by the kernel. */
  #end(reason: Error): void {
    this.#ready.reject(reason);
    for (const { refused } of this.#pending.values()) refused(reason);
    for (const ended of this.#running.values()) ended();
    this.#pending.clear();
    this.#running.clear();
  }
}
