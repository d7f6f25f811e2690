/** The demand for cells of one kind. It decides how many are parked, and remembers times of requests but no jobs. */

/** How long the busiest moment counts after it has passed. */
const PEAK_MILLISECONDS = 60_000;
/** How long one cell stays parked after the last request, unless the kind belongs to one owner. */
const KEPT_MILLISECONDS = 600_000;
/** After this time a request has half its weight when kinds compete for memory. */
const HALF_LIFE_MILLISECONDS = 60_000;
/** The most cells of one kind that are parked. */
const WANTED_MAX = 32;

/** Records requests and tells how many cells to park. All times are milliseconds of one monotonic clock. */
export class Demand {
  readonly #isUsual: boolean;
  readonly #keptMilliseconds: number;
  /** Requests within the present moment, oldest first. A moment is twice as long as making one cell takes. */
  #asked: number[] = [];
  /** The busiest moments, oldest first, each less busy than the one before it. */
  #peaks: { readonly at: number; readonly count: number }[] = [];
  #weight = 0;
  #lastAt = Number.NEGATIVE_INFINITY;

  /** A usual kind always has one parked cell. Any other kind has one for `keptMilliseconds` after a request. */
  constructor(isUsual: boolean, keptMilliseconds: number = KEPT_MILLISECONDS) {
    this.#isUsual = isUsual;
    this.#keptMilliseconds = keptMilliseconds;
  }

  /** Records a request for a cell, and how long making a cell takes at present. */
  note(now: number, makingMilliseconds: number): void {
    this.#weight = this.weight(now) + 1;
    this.#lastAt = now;
    this.#asked = [...this.#asked.filter((at) => now - at < 2 * makingMilliseconds), now].slice(-WANTED_MAX);
    const count = this.#asked.length;
    this.#peaks = [...this.#peaks.filter((peak) => peak.count > count), { at: now, count }];
  }

  /**
   * How many cells should be parked: the largest number of requests in one moment of the last minute. A moment is twice as long
   * as making a cell takes.
   */
  wanted(now: number): number {
    this.#peaks = this.#peaks.filter(({ at }) => now - at < PEAK_MILLISECONDS);
    const isKept = this.#isUsual || now - this.#lastAt < this.#keptMilliseconds;
    return Math.max(isKept ? 1 : 0, this.#peaks[0]?.count ?? 0);
  }

  /** The weight of this kind when kinds compete for memory. */
  weight(now: number): number {
    return this.#weight === 0 ? 0 : this.#weight * 2 ** ((this.#lastAt - now) / HALF_LIFE_MILLISECONDS);
  }

  /** When the demand may fall without another request; infinite if it cannot fall. */
  changesAt(): number {
    const [peak] = this.#peaks;
    if (peak !== undefined && peak.count > 1) return peak.at + PEAK_MILLISECONDS;
    return this.#isUsual ? Number.POSITIVE_INFINITY : this.#lastAt + this.#keptMilliseconds;
  }
}
