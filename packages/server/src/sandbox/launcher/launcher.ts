/**
 * The conversation with one launcher, a small process that forks cells of one language and runtime pack (`launcher.h`).
 * It starts when the first cell is asked for and again after it has died; its cells die with it. After some cells and some
 * time another takes its place: what the forks of one zygote have in common, no later cell has (decision 0022).
 */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';

const DIAGNOSTICS_CHARS_MAX = 4096;
/** How long a launcher may take until it serves: a zygote starts an interpreter. */
const READY_MILLISECONDS_MAX = 10_000;
const CELLS_OF_ONE_MAX = 256;
const AGE_MILLISECONDS_MAX = 10 * 60_000;

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
  /** How many cells one process makes before another takes its place; 256 where nothing is said. */
  readonly cellsOfOneMax?: number;
}

interface Pending {
  readonly made: (process: LaunchedProcess) => void;
  readonly refused: (reason: Error) => void;
}

/** Makes cells until it is disposed. */
export class Launcher implements AsyncDisposable {
  readonly #options: LauncherOptions;
  /** Makes the next cells. */
  #serving: Promise<Serving> | null = null;
  /** About to take its place. */
  #successor: Promise<Serving> | null = null;
  /** Every process that has not ended, those too that only wait for the end of their cells. */
  readonly #processes = new Set<Serving>();
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
    const serving = await this.#usable();
    const made = serving.make(id, rootUid);
    if (serving.isDue) this.#replace(serving);
    return await made;
  }

  /** Ends the launcher and with it every cell it made. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const starting = [this.#serving, this.#successor].filter((serving) => serving !== null);
    await Promise.allSettled(starting);
    await Promise.all([...this.#processes].map((serving) => serving.close()));
  }

  async #usable(): Promise<Serving> {
    for (;;) {
      this.#serving ??= this.#start();
      const serving = await this.#serving;
      // Another may have taken its place while this waited.
      if (!serving.isRetired) return serving;
    }
  }

  #start(): Promise<Serving> {
    const starting = Serving.start(this.#options);
    const end = (): void => {
      if (this.#serving === starting) this.#serving = null;
    };
    starting.then((serving) => {
      this.#processes.add(serving);
      void serving.ended.then(() => {
        this.#processes.delete(serving);
        end();
      });
    }, end);
    return starting;
  }

  /** Cells are made as before until the new one is ready. Where it cannot be started, the next cell tries again. */
  #replace(serving: Serving): void {
    if (this.#successor !== null || serving.isRetired || this.#isClosed) return;
    this.#successor = this.#start();
    this.#successor
      .then(() => {
        this.#serving = this.#successor;
        serving.retire();
      })
      .catch(() => {})
      .finally(() => {
        this.#successor = null;
      });
  }
}

/** One process of a launcher, from its start to its end. */
class Serving {
  readonly #child: ChildProcess;
  readonly #input: Writable;
  readonly #pending = new Map<string, Pending>();
  readonly #running = new Map<string, () => void>();
  /** Cells that were made and are not forgotten. */
  readonly #known = new Set<string>();
  readonly #dueAt = performance.now() + AGE_MILLISECONDS_MAX;
  readonly #exited: Promise<void>;
  #cellsLeft: number;
  #isRetired = false;
  readonly #ready = Promise.withResolvers<void>();
  #said = '';
  #rest = '';

  static async start(options: LauncherOptions): Promise<Serving> {
    const { program, configuration, cellsOfOneMax = CELLS_OF_ONE_MAX } = options;
    const child = spawn(program, [], { stdio: ['pipe', 'pipe', 'pipe', 'pipe'], env: {}, cwd: '/', detached: true });
    const serving = new Serving(child, cellsOfOneMax);
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

  private constructor(child: ChildProcess, cellsMax: number) {
    this.#cellsLeft = cellsMax;
    const { stdin, stdout, stderr } = child as ChildProcessWithoutNullStreams;
    this.#child = child;
    this.#input = stdin.on('error', () => {});
    this.#exited = new Promise((resolve) => child.once('close', () => resolve()).once('error', () => resolve()));
    stdout.setEncoding('latin1').on('data', (text: string) => this.#hear(text));
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(0, DIAGNOSTICS_CHARS_MAX);
    });
    child.once('error', (error) => this.#end(error));
    child.once('close', () =>
      this.#end(new Error(`the launcher ended: ${this.#said.trim() || (child.signalCode ?? child.exitCode)}`)),
    );
  }

  /** Resolves once the process has ended. Never rejects. */
  get ended(): Promise<void> {
    return this.#exited;
  }

  /** Whether it has made as many cells, or lived as long, as one should. */
  get isDue(): boolean {
    return this.#cellsLeft <= 0 || performance.now() > this.#dueAt;
  }

  get isRetired(): boolean {
    return this.#isRetired;
  }

  /** Has it end as soon as the last of its cells is forgotten. */
  retire(): void {
    this.#isRetired = true;
    this.#endUnneeded();
  }

  make(id: string, rootUid: number): Promise<LaunchedProcess> {
    const { promise, resolve, reject } = Promise.withResolvers<LaunchedProcess>();
    this.#pending.set(id, { made: resolve, refused: reject });
    this.#cellsLeft--;
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
    this.#known.add(id);
    this.#pending.get(id)?.made({ pid, ended, forget: () => this.#forget(id) });
    this.#pending.delete(id);
  }

  #forget(id: string): void {
    this.#input.write(`forget ${id}\n`);
    this.#known.delete(id);
    this.#endUnneeded();
  }

  #endUnneeded(): void {
    if (this.#isRetired && this.#pending.size === 0 && this.#known.size === 0) this.#input.end();
  }

  #refuse(id: string, reason: string): void {
    this.#pending.get(id)?.refused(new Error(reason));
    this.#pending.delete(id);
    this.#endUnneeded();
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
