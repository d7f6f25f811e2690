/**
 * A cell given to a job. This wrapper reports when other cells may be made without delaying the job. A parked cell that fails at
 * the hand-over is replaced once: nothing of the job ran in the failed cell, and it is gone before the replacement starts.
 */
import {
  BootstrapError,
  type LoadedCell,
  type OutputSink,
  type Posture,
  type PreparedCell,
  type Program,
  type RunningCell,
} from '../sandbox.ts';

/** How long a program runs before other cells are made. Making them takes as long as a short program, and would delay its end. */
const HEAD_START_MILLISECONDS = 50;

export interface HandedOutOptions {
  /** Makes another cell of the same kind, or rejects; null if the cell was not parked. */
  readonly replace: ((error: BootstrapError) => Promise<PreparedCell>) | null;
  /** Called once: when the program has ended or had its head start, or when the cell is given up before its program runs. */
  readonly settled: () => void;
}

export class HandedOutCell implements PreparedCell {
  #cell: PreparedCell;
  readonly #options: HandedOutOptions;
  #isSettled = false;
  #headStart: NodeJS.Timeout | undefined;

  constructor(cell: PreparedCell, options: HandedOutOptions) {
    this.#cell = cell;
    this.#options = options;
  }

  get language() {
    return this.#cell.language;
  }

  get posture(): Posture {
    return this.#cell.posture;
  }

  get ended(): Promise<void> {
    return this.#cell.ended;
  }

  isWhole(): boolean {
    return this.#cell.isWhole();
  }

  memoryBytes(): number {
    return this.#cell.memoryBytes();
  }

  async handOver(program: Program): Promise<LoadedCell> {
    const loaded = await this.#loadedWith(program);
    const { posture, held } = loaded;
    return { posture, held, release: (sink) => this.#release(loaded, sink) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cell[Symbol.asyncDispose]();
    this.#settle();
  }

  async #loadedWith(program: Program): Promise<LoadedCell> {
    const { replace } = this.#options;
    try {
      return await this.#cell.handOver(program);
    } catch (error) {
      if (replace === null || !(error instanceof BootstrapError)) throw error;
      await this.#cell[Symbol.asyncDispose]();
      this.#cell = await replace(error);
      return await this.#cell.handOver(program);
    }
  }

  #release(loaded: LoadedCell, sink: OutputSink): RunningCell {
    const running = loaded.release(sink);
    this.#headStart = setTimeout(() => this.#settle(), HEAD_START_MILLISECONDS);
    this.#headStart.unref();
    return {
      stop: (cause) => running.stop(cause),
      collect: () => running.collect().finally(() => this.#settle()),
    };
  }

  #settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#headStart);
    this.#options.settled();
  }
}
