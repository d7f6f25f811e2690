/**
 * When cells may be made ahead. Where making one takes longer than a short job, it holds up every job that comes meanwhile:
 * while jobs come one after the other, only a kind of which none waits is made.
 */

export interface PaceOptions {
  /** How many are made ahead at a time. */
  readonly madeAtOnce: number;
  /** How long no job has asked for a cell before another of a kind that waits is made; 0 where making one is quick. */
  readonly quietMilliseconds: number;
}

/** All times are milliseconds of one monotonic clock. */
export class Pace {
  readonly #options: PaceOptions;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** A job asked for a cell. */
  noteAsked(now: number): void {
    this.#askedAt = now;
  }

  /** When a kind of which one waits may be made again, if no job asks until then. */
  get quietAt(): number {
    return this.#askedAt + this.#options.quietMilliseconds;
  }

  /** Whether one more may be begun. `waiting` is how many of its kind wait or will. */
  allows(now: number, { waiting, making }: { readonly waiting: number; readonly making: number }): boolean {
    return making < this.#options.madeAtOnce && (waiting === 0 || now >= this.quietAt);
  }
}
