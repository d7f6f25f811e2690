/** The protocol with one launcher process, from its start to its end. `serve.c` describes the messages. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { getSystemErrorName } from 'node:util';
import type { ReservedCell } from '../../cell/runtime.ts';
import { NotReadyInTime, Unanswered } from '../../sandbox.ts';
import { templateLines } from './configuration.ts';
import { SignsOfLife } from './signs-of-life.ts';

const DIAGNOSTICS_CHARS_MAX = 4096;
const CELLS_OF_ONE_MAX = 256;
const AGE_MILLISECONDS_MAX = 10 * 60_000;
/** An id that no cell has. Asked about this id, the launcher answers at once that there is no such cell. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

/** A cell that waits for a job. */
export interface LaunchedCell {
  /** The host's id for the cell's process 1. No other process can get it until limits are set or the cell is forgotten. */
  readonly pid: number;
  /** The host kernel's report on the cell, in sections that `guest-report.ts` reads. */
  readonly report: string;
  /**
   * Resolves to the report of the program's end once none of its processes is alive, or to an error if the launcher is gone.
   * Never rejects.
   */
  readonly over: Promise<string | Error>;
  /** Resolves once process 1 is gone, but only after `hold` or `forget`: to true if the groups are gone, too. Never rejects. */
  readonly gone: Promise<boolean>;
  /**
   * Sets limits, and resolves to a report of the values that were read back. `serve.c` describes `words`. Rejects with the `code`
   * of the kernel's error.
   */
  readonly hold: (words: string) => Promise<string>;
  /** Reports that process 1 and its groups are no longer needed. After `hold`, only a launcher with `keepsCells` is told. */
  readonly forget: () => void;
}

/** Which cell is to be made. */
export interface LaunchRequest {
  readonly id: string;
  /** The host user that is root in the cell. The next one is the cell's other user. */
  readonly rootUid: number;
  /** The words to write to the cell's groups before any process is in them, as `groups.c` reads them. */
  readonly accesses: string;
  /** Whether the cell's program may call tools. Default: false. */
  readonly hasTools?: boolean;
  /** Aborts when the cell is no longer wanted. The cell is then not begun. */
  readonly unwanted?: AbortSignal;
}

export interface LauncherOptions {
  /** The path of the built launcher. */
  readonly program: string;
  /** The kind of the launcher's cells. Whoever lists the host's processes sees it. */
  readonly kind?: string;
  /** Lines, as `configuration.c` reads them. */
  readonly configuration: readonly string[];
  /** Whether a cell that took a job is kept until it is forgotten, because it has no groups through which to kill it. */
  readonly keepsCells?: boolean;
  /** Reserves a cell for a template. If the launcher has a template, each of its processes needs such a cell. */
  readonly reserve?: (() => ReservedCell) | undefined;
  /** How long the launcher may take to be ready. This includes starting an interpreter for a template. */
  readonly readyMilliseconds: number;
  /** How long a process that owes an answer may be silent. Then it is asked for any answer, and may be silent as long again. */
  readonly silentMilliseconds: number;
  /** How many cells one process makes before another replaces it. Default: 256. */
  readonly cellsOfOneMax?: number;
}

interface Pending {
  readonly made: (cell: LaunchedCell) => void;
  readonly refused: (reason: Error) => void;
}

/** A cell that was made and still exists. */
interface Living {
  readonly over: PromiseWithResolvers<string | Error>;
  readonly gone: PromiseWithResolvers<boolean>;
  held: PromiseWithResolvers<string> | null;
  isForgotten: boolean;
}

/** Lines from the launcher that are followed by a report. Their last word is the report's length in bytes. */
const WITH_REPORT: ReadonlySet<string> = new Set(['made', 'held', 'ended']);

/** One process of a launcher, from its start to its end. */
export class Serving {
  readonly #child: ChildProcess;
  readonly #input: Writable;
  readonly #pending = new Map<string, Pending>();
  readonly #living = new Map<string, Living>();
  readonly #dueAt = performance.now() + AGE_MILLISECONDS_MAX;
  readonly #exited: Promise<void>;
  readonly #keepsCells: boolean;
  #cellsLeft: number;
  #isRetired = false;
  readonly #ready = Promise.withResolvers<void>();
  readonly #lost = Promise.withResolvers<void>();
  #isLost = false;
  readonly #signs: SignsOfLife;
  #said = '';
  #rest = '';

  static async start(options: LauncherOptions): Promise<Serving> {
    const { program, kind = '', configuration, reserve, readyMilliseconds } = options;
    const template = reserve?.() ?? null;
    const child = spawn(program, [kind], {
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
      env: {},
      cwd: '/',
      detached: true,
    });
    const serving = new Serving(child, options, template);
    const description = child.stdio[3] as Writable;
    description.on('error', () => {}); // The launcher may have ended, and its exit reports that.
    const lines = template === null ? configuration : [...configuration, ...templateLines(template)];
    description.end(`${lines.join('\n')}\n`);
    const tooLate = setTimeout(() => serving.#kill(new NotReadyInTime(readyMilliseconds)), readyMilliseconds);
    try {
      await serving.#ready.promise;
      return serving;
    } finally {
      clearTimeout(tooLate);
    }
  }

  private constructor(
    child: ChildProcess,
    { cellsOfOneMax = CELLS_OF_ONE_MAX, silentMilliseconds, keepsCells = false }: LauncherOptions,
    template: ReservedCell | null,
  ) {
    this.#cellsLeft = cellsOfOneMax;
    this.#keepsCells = keepsCells;
    this.#signs = new SignsOfLife({
      milliseconds: silentMilliseconds,
      isAwaited: () => this.#isAwaited(),
      ask: () => this.#input.write(`forget ${NOBODY}\n`),
      hangs: () => this.#kill(unanswered(2 * silentMilliseconds)),
    });
    const { stdin, stdout, stderr } = child as ChildProcessWithoutNullStreams;
    this.#child = child;
    this.#input = stdin.on('error', () => {});
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()).once('error', () => resolve()));
    // A launcher that was killed leaves the group of its template behind.
    this.#exited = closed.then(async () => await template?.[Symbol.asyncDispose]()).catch(() => {});
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

  /** Resolves once the process no longer answers, even if the kernel has not ended it yet. Never rejects. */
  get lost(): Promise<void> {
    return this.#lost.promise;
  }

  /** Whether the process has made its number of cells or reached its maximum age. */
  get isDue(): boolean {
    return this.#cellsLeft <= 0 || performance.now() > this.#dueAt;
  }

  get isRetired(): boolean {
    return this.#isRetired;
  }

  /** Ends the process once its last cell is gone. */
  retire(): void {
    this.#isRetired = true;
    this.#endUnneeded();
  }

  make({ id, rootUid, accesses, hasTools = false }: LaunchRequest): Promise<LaunchedCell> {
    const { promise, resolve, reject } = Promise.withResolvers<LaunchedCell>();
    this.#pending.set(id, { made: resolve, refused: reject });
    this.#cellsLeft--;
    this.#signs.expect();
    if (this.#isAlive()) this.#input.write(`${hasTools ? 'tools' : 'cell'} ${id} ${rootUid} ${accesses}\n`);
    else this.#refuse(id, 'the launcher ended');
    return promise;
  }

  /** Ends the process by closing its input. If it hangs, it is killed. */
  async close(silentMilliseconds: number): Promise<void> {
    const hangs = setTimeout(() => this.#kill(unanswered(silentMilliseconds)), silentMilliseconds);
    this.#input.end();
    await this.#exited;
    clearTimeout(hangs);
  }

  /** Whether an answer or the end of a program is due. A waiting cell may be silent. */
  #isAwaited(): boolean {
    return this.#pending.size > 0 || [...this.#living.values()].some(({ held, isForgotten }) => held || isForgotten);
  }

  #kill(reason: Error): void {
    this.#child.kill('SIGKILL');
    this.#end(reason);
  }

  #isAlive(): boolean {
    return !this.#isLost && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  #hear(text: string): void {
    this.#signs.hear();
    this.#rest += text;
    for (let line = this.#nextLine(); line !== null; line = this.#nextLine()) this.#take(line.words, line.report);
  }

  /** The next message; null if it is not yet complete. */
  #nextLine(): { words: readonly string[]; report: string } | null {
    const end = this.#rest.indexOf('\n');
    if (end < 0) return null;
    const words = this.#rest.slice(0, end).split(' ');
    const length = WITH_REPORT.has(words[0] as string) ? Number(words.at(-1)) : 0;
    const next = end + 1 + length;
    if (this.#rest.length < next) return null;
    const report = this.#rest.slice(end + 1, next);
    this.#rest = this.#rest.slice(next);
    return { words, report };
  }

  #take([word = '', id = '', ...rest]: readonly string[], report: string): void {
    switch (word) {
      case 'ready':
        this.#ready.resolve();
        break;
      case 'made':
        this.#made(id, Number(rest[0]), report);
        break;
      case 'refused':
        this.#refuse(id, rest.join(' '));
        break;
      case 'held':
        this.#living.get(id)?.held?.resolve(report);
        break;
      case 'failed':
        this.#living.get(id)?.held?.reject(errorOf(Number(rest[0])));
        break;
      case 'ended':
        this.#living.get(id)?.over.resolve(report);
        break;
      case 'gone':
        this.#gone(id, rest.length === 0);
        break;
      default:
        this.#child.kill('SIGKILL');
    }
  }

  #made(id: string, pid: number, report: string): void {
    const living: Living = {
      over: Promise.withResolvers(),
      gone: Promise.withResolvers(),
      held: null,
      isForgotten: false,
    };
    this.#living.set(id, living);
    this.#pending.get(id)?.made({
      pid,
      report,
      over: living.over.promise,
      gone: living.gone.promise,
      hold: (words) => this.#hold(id, living, words),
      forget: () => this.#forget(id, living),
    });
    this.#pending.delete(id);
  }

  async #hold(id: string, living: Living, words: string): Promise<string> {
    if (!this.#isAlive()) throw new Error('the launcher ended');
    living.held = Promise.withResolvers();
    this.#signs.expect();
    this.#input.write(`hold ${id} ${words}\n`);
    const report = await living.held.promise;
    living.isForgotten = !this.#keepsCells;
    return report;
  }

  #forget(id: string, living: Living): void {
    if (!living.isForgotten) this.#input.write(`forget ${id}\n`);
    living.isForgotten = true;
    this.#signs.expect();
  }

  #gone(id: string, areGroups: boolean): void {
    this.#living.get(id)?.gone.resolve(areGroups);
    this.#living.delete(id);
    this.#endUnneeded();
  }

  #endUnneeded(): void {
    if (this.#isRetired && this.#pending.size === 0 && this.#living.size === 0) this.#input.end();
  }

  #refuse(id: string, reason: string): void {
    this.#pending.get(id)?.refused(new Error(reason));
    this.#pending.delete(id);
    this.#endUnneeded();
  }

  /** Notes the end of the launcher. The kernel ends all its cells with it; their groups remain. */
  #end(reason: Error): void {
    this.#isLost = true;
    this.#lost.resolve();
    this.#signs[Symbol.dispose]();
    this.#ready.reject(reason);
    for (const { refused } of this.#pending.values()) refused(reason);
    for (const { held, over, gone } of this.#living.values()) {
      held?.reject(reason);
      over.resolve(reason);
      gone.resolve(false);
    }
    this.#pending.clear();
    this.#living.clear();
  }
}

/** The error for the number that a failed system call returned. */
function errorOf(number: number): Error {
  const code = getSystemErrorName(-number);
  return Object.assign(new Error(`the limits could not be set: ${code}`), { code });
}

function unanswered(milliseconds: number): Unanswered {
  return new Unanswered(milliseconds, `the launcher was killed: it had not answered for ${milliseconds / 1000} s`);
}
