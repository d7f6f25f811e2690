/**
 * Whether cells can be made now, and not only when the service started: a runtime may vanish, or a host may run out of
 * a resource. Every preparation is evidence. After one that failed, a trial cell is made. So one broken pack does not
 * count as a broken host, and a service without jobs notices when the host is repaired.
 */
import { type Language, LIMIT_DEFAULTS } from '@vouchbox/protocol';
import type { Cells } from '../job/execute/cells.ts';
import type { ParkedCells } from '../sandbox/parked/parked-cells.ts';
import {
  BootstrapError,
  type CellRequest,
  type PreparedCell,
  type Program,
  type Provider,
  wasLate,
} from '../sandbox/sandbox.ts';
import type { Log } from '../telemetry/log/log.ts';

/** While cells cannot be made, each request may start a trial, but not more often than this. */
const retryMilliseconds = 1000;

export interface ProviderHealthOptions {
  readonly provider: Pick<Provider, 'prepare' | 'languages'>;
  readonly log: Log;
  /** Called when cells can be made again. */
  readonly onReady?: () => void;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/** Disposing waits for the trial under way, and starts no other. */
export class ProviderHealth implements Omit<Cells, 'take'>, AsyncDisposable {
  readonly #options: ProviderHealthOptions;
  readonly #now: () => number;
  #isReady: boolean;
  #triedAt = Number.NEGATIVE_INFINITY;
  #trial: Promise<void> | null = null;
  #isDisposed = false;

  constructor(options: ProviderHealthOptions) {
    this.#options = options;
    // The initial state is the preflight's.
    this.#isReady = options.provider.languages.length > 0;
    this.#now = options.now ?? (() => performance.now());
  }

  /** See `Cells`. */
  isReady(): boolean {
    if (!this.#isReady && this.#now() - this.#triedAt >= retryMilliseconds) this.#try();
    return this.#isReady;
  }

  /** See `Cells`. A trial under way is shared by everybody who asks meanwhile. */
  async proven(): Promise<boolean> {
    this.#try();
    await this.#trial;
    return this.#isReady;
  }

  /**
   * The provider's `prepare`, observed. A job's cell that was not ready in time, as happens on a busy machine, is made
   * once more: nothing of the job was in it.
   */
  async prepare(request: CellRequest): Promise<PreparedCell> {
    const { provider, log } = this.#options;
    try {
      return this.#noted(await provider.prepare(request));
    } catch (error) {
      if (!wasLate(error)) throw this.#failed(error);
      // The cell had a small share of the processors, so its failure may only mean that the machine is busy.
      if (isAhead(request)) throw error;
      log.warn({ err: error }, 'a cell was not ready in time: another is made');
    }
    try {
      return this.#noted(await provider.prepare(request));
    } catch (error) {
      throw this.#failed(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await this.#trial;
  }

  #noted(cell: PreparedCell): PreparedCell {
    this.#note(true);
    return cell;
  }

  #failed(error: unknown): unknown {
    if (error instanceof BootstrapError) this.#try();
    return error;
  }

  #try(): void {
    if (this.#trial !== null || this.#isDisposed) return;
    this.#triedAt = this.#now();
    this.#trial = this.#tryCell().finally(() => {
      this.#trial = null;
    });
  }

  async #tryCell(): Promise<void> {
    const { provider, log } = this.#options;
    const [language] = provider.languages;
    if (language === undefined) return;
    try {
      await using cell = await provider.prepare({ language, runtime: null });
      await cell.handOver(nothing(language));
      this.#note(true);
    } catch (error) {
      if (this.#isReady) log.error({ err: error }, 'cells cannot be made any more');
      this.#note(false);
    }
  }

  #note(isReady: boolean): void {
    const isBack = isReady && !this.#isReady;
    this.#isReady = isReady;
    if (!isBack) return;
    this.#options.log.info('cells can be made again');
    this.#options.onReady?.();
  }
}

/** The source of cells for jobs: parked ones first, then new ones. */
export function cellsOf(health: ProviderHealth, parked: Pick<ParkedCells, 'prepare' | 'take'> | null): Cells {
  return {
    isReady: () => health.isReady(),
    proven: () => health.proven(),
    prepare: (request) => (parked ?? health).prepare(request),
    take: (kind) => parked?.take(kind) ?? null,
  };
}

/** Whether no job waits for the cell yet. */
function isAhead({ aheadUntil }: CellRequest): boolean {
  return aheadUntil?.aborted === false;
}

/** A program for a trial cell: its limits are set and read back, and it is never released. */
function nothing(language: Language): Program {
  return { language, code: '', args: [], env: {}, stdin: null, files: [], outputs: [], limits: LIMIT_DEFAULTS };
}
