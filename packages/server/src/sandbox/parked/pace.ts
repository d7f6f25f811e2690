/**
 * Decides when cells may be made ahead. If making one takes longer than a short job, it delays every job that comes
 * meanwhile. So while jobs come one after the other, only a kind without a parked cell is made.
 */

export interface PaceOptions {
  /** How many are made ahead at a time. */
  readonly madeAtOnce: number;
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

  /** Whether one more may be begun. `waiting` counts the cells of its kind that are parked or being made. */
  allows(now: number, { waiting, making }: { readonly waiting: number; readonly making: number }): boolean {
    return making < this.#options.madeAtOnce && (waiting === 0 || now >= this.quietAt);
  }
}
