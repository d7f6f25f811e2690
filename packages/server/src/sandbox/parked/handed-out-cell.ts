/**
 * A cell that a job has. It is the cell itself, and tells when the job no longer waits for anything of it. A cell that
 * waited and fails at the hand-over is replaced once: nothing of the job ran in it, and it is gone before the other begins.
 */
import {
  BootstrapError,
  type Collection,
  type HeldLimits,
  type OutputSink,
  type Posture,
  type Program,
  type Sandbox,
  type StopCause,
} from '../sandbox.ts';

export interface HandedOutOptions {
  /** Makes another of the same kind, or rejects; null where the cell did not wait before it was handed out. */
  readonly replace: ((error: BootstrapError) => Promise<Sandbox>) | null;
  /** Called once, when the program was released or the cell was given up before. */
  readonly settled: () => void;
}

export class HandedOutCell implements Sandbox {
  #cell: Sandbox;
  readonly #options: HandedOutOptions;
  #isSettled = false;

  constructor(cell: Sandbox, options: HandedOutOptions) {
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

  async handOver(program: Program): Promise<HeldLimits> {
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

  release(sink: OutputSink): void {
    this.#cell.release(sink);
    this.#settle();
  }

  stop(cause: StopCause): void {
    this.#cell.stop(cause);
  }

  collect(): Promise<Collection> {
    return this.#cell.collect();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cell[Symbol.asyncDispose]();
    this.#settle();
  }

  #settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#options.settled();
  }
}
