/**
 * Whether cells can be made now. The answer may change after the start: a runtime may vanish, or a host may run out of a
 * resource. Every attempt to prepare a cell is evidence. After a failed attempt, a trial cell for the same language is made in
 * the usual pack and, if that fails too, a trial cell for another language. So one broken pack does not count as a broken host.
 * The service learns whether only one language's cells fail, and notices a repaired host even if it has no jobs.
 */
import { type Language, LIMIT_DEFAULTS } from '@vouchbox/protocol';
import type { Cells } from '../job/execute/cells.ts';
import type { ParkedCells } from '../sandbox/parked/parked-cells.ts';
import {
  BootstrapError,
  type CellKind,
  type CellRequest,
  PLAIN_PROGRAM,
  type PreparedCell,
  type Program,
  type Provider,
  wasLate,
  wasUnanswered,
} from '../sandbox/sandbox.ts';
import type { Log } from '../telemetry/log/log.ts';

/** The shortest time between two trials. While no cells can be made, each request may start a trial. */
const retryMilliseconds = 1000;

export interface ProviderHealthOptions {
  readonly provider: Pick<Provider, 'noteAsked' | 'prepare' | 'languages'>;
  readonly log: Log;
  /** Called when cells can be made again. */
  readonly onReady?: () => void;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/** Disposing waits for the trial under way, and no other trial starts. */
export class ProviderHealth implements Omit<Cells, 'take'>, AsyncDisposable {
  readonly #options: ProviderHealthOptions;
  readonly #now: () => number;
  /** Languages whose cells cannot be made although cells of other languages can. */
  readonly #failing = new Set<Language>();
  #isReady: boolean;
  /** How often cells were found to fail. A cell that was begun before the last failure proves nothing about the present. */
  #doubts = 0;
  #triedAt = Number.NEGATIVE_INFINITY;
  #trial: Promise<void> | null = null;
  #isDisposed = false;

  constructor(options: ProviderHealthOptions) {
    this.#options = options;
    // The initial state is the result of the preflight.
    this.#isReady = options.provider.languages.length > 0;
    this.#now = options.now ?? (() => performance.now());
  }

  /** See `Cells`. */
  isReady(): boolean {
    this.#tryAgain();
    return this.#isReady;
  }

  /** Whether cells of every language can be made, as far as is known. This call may begin a trial. */
  isWhole(): boolean {
    this.#tryAgain();
    return this.#isReady && this.#failing.size === 0;
  }

  /** See `Cells`. If a trial is under way, its result is returned. */
  async proven(): Promise<boolean> {
    this.#try();
    await this.#trial;
    return this.#isReady;
  }

  /** See `Provider`. */
  noteAsked(kind: CellKind): void {
    this.#options.provider.noteAsked(kind);
  }

  /**
   * Calls the provider's `prepare` and observes the result. If a job's cell was not ready in time, as happens on a busy
   * machine, one more cell is made: the late cell contained nothing of the job.
   */
  async prepare(request: CellRequest): Promise<PreparedCell> {
    try {
      return await this.#prepared(request);
    } catch (error) {
      if (!wasLate(error)) throw this.#failed(error, request);
      // The cell had a small share of the processors, so its failure may only mean that the machine is busy.
      if (isAhead(request)) throw wasUnanswered(error) ? this.#failed(error, request) : error;
      this.#options.log.warn({ err: error }, 'a cell was not ready in time: another is made');
    }
    try {
      return await this.#prepared(request);
    } catch (error) {
      throw this.#failed(error, request);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await this.#trial;
  }

  async #prepared(request: CellRequest): Promise<PreparedCell> {
    const doubts = this.#doubts;
    const cell = await this.#options.provider.prepare(request);
    if (doubts === this.#doubts) this.#noteMade(cell.language);
    return cell;
  }

  #failed(error: unknown, { language }: CellRequest): unknown {
    if (error instanceof BootstrapError) this.#try(language);
    return error;
  }

  #tryAgain(): void {
    const isWhole = this.#isReady && this.#failing.size === 0;
    if (!isWhole && this.#now() - this.#triedAt >= retryMilliseconds) this.#try();
  }

  #try(suspect?: Language): void {
    if (this.#trial !== null || this.#isDisposed) return;
    this.#triedAt = this.#now();
    this.#trial = this.#tryCells(suspect).finally(() => {
      this.#trial = null;
    });
  }

  async #tryCells(asked: Language | undefined): Promise<void> {
    const { languages } = this.#options.provider;
    const first = languages.find((language) => !this.#failing.has(language));
    const suspects = new Set([asked ?? first, ...(this.#isReady ? this.#failing : [])]);
    for (const suspect of suspects) if (suspect !== undefined) await this.#judge(suspect);
  }

  /** Finds out whether the host is broken: that is, neither a cell of this language nor one of another language can be made. */
  async #judge(language: Language): Promise<void> {
    const { languages } = this.#options.provider;
    const error = await this.#tryCell(language);
    if (error === null) return;
    const other = languages.find((candidate) => candidate !== language && !this.#failing.has(candidate));
    const isBroken = other === undefined || (await this.#tryCell(other)) !== null;
    if (isBroken) this.#noteBroken(error);
    else this.#noteFailing(language, error);
  }

  /** Makes a trial cell. Returns the error if that fails, and null otherwise. */
  async #tryCell(language: Language): Promise<unknown> {
    try {
      await using cell = await this.#options.provider.prepare({ language, runtime: null });
      await cell.handOver(nothing(language));
      this.#noteMade(language);
      return null;
    } catch (error) {
      return error;
    }
  }

  #noteMade(language: Language): void {
    const { log, onReady } = this.#options;
    if (this.#failing.delete(language)) log.info({ language }, 'cells of a language can be made again');
    if (this.#isReady) return;
    this.#isReady = true;
    log.info('cells can be made again');
    onReady?.();
  }

  #noteBroken(error: unknown): void {
    this.#doubts += 1;
    if (this.#isReady) this.#options.log.error({ err: error }, 'cells cannot be made any more');
    this.#isReady = false;
  }

  #noteFailing(language: Language, error: unknown): void {
    this.#doubts += 1;
    if (this.#failing.has(language)) return;
    this.#options.log.error({ err: error, language }, 'cells of a language cannot be made any more');
    this.#failing.add(language);
  }
}

/** The source of cells for jobs: parked ones first, then new ones. */
export function cellsOf(health: ProviderHealth, parked: Pick<ParkedCells, 'prepare' | 'take'> | null): Cells {
  return {
    isReady: () => health.isReady(),
    proven: () => health.proven(),
    prepare(request) {
      health.noteAsked(request);
      return (parked ?? health).prepare(request);
    },
    take(kind) {
      const cell = parked?.take(kind) ?? null;
      if (cell !== null) health.noteAsked(kind);
      return cell;
    },
  };
}

/** Whether the cell is made ahead of time, before a job needs it. */
function isAhead({ aheadUntil }: CellRequest): boolean {
  return aheadUntil?.aborted === false;
}

/** An empty program for a trial cell. The limits of the cell are set and read back, and the program is never released. */
function nothing(language: Language): Program {
  return { ...PLAIN_PROGRAM, language, code: '', limits: LIMIT_DEFAULTS };
}
