/**
 * Decides when cells may be made ahead of demand. If making a cell takes longer than a short job, it delays every job that
 * arrives meanwhile. So while jobs arrive one after the other, cells are made ahead only of a kind without a parked cell. While a
 * job waits for its cell, one core makes that cell, and other cores may make the next ones.
 */

export interface PaceOptions {
  /** How many cells are made ahead at the same time. */
  readonly madeAtOnce: number;
  /** How many cells may be in the making while a job waits for its cell. Below 2, none is begun ahead while a job waits. */
  readonly madeWhileAwaited: number;
  /** A kind gets a further parked cell only if no job asked for a cell for this long; 0 if making a cell is fast. */
  readonly quietMilliseconds: number;
}

/** Tells when a cell may be made ahead. All times are milliseconds of one monotonic clock. */
export class Pace {
  readonly #options: PaceOptions;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** Records that a job asked for a cell. */
  noteAsked(now: number): void {
    this.#askedAt = now;
  }

  /** When a kind that has a parked cell may get another one, unless a job asks for a cell before then. */
  get quietAt(): number {
    return this.#askedAt + this.#options.quietMilliseconds;
  }

  /** Whether one more cell may be begun. */
  allows(now: number, { ofKind, making, isAwaited }: Work): boolean {
    const { madeAtOnce, madeWhileAwaited } = this.#options;
    if (isAwaited) return ofKind === 0 && making < madeWhileAwaited;
    return making < madeAtOnce && (ofKind === 0 || now >= this.quietAt);
  }
}

interface Work {
  /** How many cells of the kind are parked or being made and belong to no job. */
  readonly ofKind: number;
  /** How many cells are being made, including those for jobs. */
  readonly making: number;
  /** Whether a job waits for a cell. */
  readonly isAwaited: boolean;
}
