/**
 * Decides when cells may be made ahead. If making one takes longer than a short job, it delays every job that comes
 * meanwhile. So while jobs come one after the other, only a kind without a parked cell is made. Where a job waits for its
 * cell, one core makes that cell, and others may make the next ones.
 */

export interface PaceOptions {
  /** How many are made ahead at a time. */
  readonly madeAtOnce: number;
  /** How many cells may be in the making while a job waits for one. Below 2, none is begun ahead meanwhile. */
  readonly madeWhileAwaited: number;
  /** How long no job must have asked for a cell before a further cell of a kind is made; 0 if making one is fast. */
  readonly quietMilliseconds: number;
}

/** All times are milliseconds of one monotonic clock. */
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

  /** When a kind with a parked cell may be made again, if no job asks until then. */
  get quietAt(): number {
    return this.#askedAt + this.#options.quietMilliseconds;
  }

  /** Whether one more may be begun. */
  allows(now: number, { ofKind, making, isAwaited }: Work): boolean {
    const { madeAtOnce, madeWhileAwaited } = this.#options;
    if (isAwaited) return ofKind === 0 && making < madeWhileAwaited;
    return making < madeAtOnce && (ofKind === 0 || now >= this.quietAt);
  }
}

interface Work {
  /** The cells of the kind that are parked or being made, and that no job has. */
  readonly ofKind: number;
  /** All cells that are being made, also those of jobs. */
  readonly making: number;
  /** Whether a job waits for a cell. */
  readonly isAwaited: boolean;
}
