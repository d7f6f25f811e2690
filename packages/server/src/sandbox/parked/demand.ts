/** How much cells of one kind are asked for, as far as it says how many should wait. It remembers times and no job. */

/** For how long the busiest moment counts. */
const PEAK_MILLISECONDS = 60_000;
/** For how long one cell is kept waiting after it was last asked for. */
const KEPT_MILLISECONDS = 600_000;
/** In this time what was asked counts half as much when kinds compete for memory. */
const HALF_LIFE_MILLISECONDS = 60_000;
/** More cells of one kind never wait. */
const WANTED_MAX = 32;

/** All times are milliseconds of one monotonic clock. */
export class Demand {
  readonly #isUsual: boolean;
  /** Within the present moment, oldest first. */
  #asked: number[] = [];
  /** The busiest moments, each less busy than the one before it. */
  #peaks: { readonly at: number; readonly count: number }[] = [];
  #weight = 0;
  #lastAt = Number.NEGATIVE_INFINITY;

  /** Of a usual kind one cell always waits. */
  constructor(isUsual: boolean) {
    this.#isUsual = isUsual;
  }

  /** A cell was asked for at a time when making one takes so long. */
  note(now: number, makingMilliseconds: number): void {
    this.#weight = this.weight(now) + 1;
    this.#lastAt = now;
    this.#asked = [...this.#asked.filter((at) => now - at < 2 * makingMilliseconds), now].slice(-WANTED_MAX);
    const count = this.#asked.length;
    this.#peaks = [...this.#peaks.filter((peak) => peak.count > count), { at: now, count }];
  }

  /**
   * How many cells should wait: as many as were asked for in twice the time that making one takes, at the busiest moment
   * of the last minute.
   */
  wanted(now: number): number {
    this.#peaks = this.#peaks.filter(({ at }) => now - at < PEAK_MILLISECONDS);
    const isKept = this.#isUsual || now - this.#lastAt < KEPT_MILLISECONDS;
    return Math.max(isKept ? 1 : 0, this.#peaks[0]?.count ?? 0);
  }

  /** How much it counts beside other kinds. */
  weight(now: number): number {
    return this.#weight === 0 ? 0 : this.#weight * 2 ** ((this.#lastAt - now) / HALF_LIFE_MILLISECONDS);
  }

  /** When the demand may fall without another request; infinite if it will not. */
  changesAt(): number {
    const [peak] = this.#peaks;
    if (peak !== undefined && peak.count > 1) return peak.at + PEAK_MILLISECONDS;
    return this.#isUsual ? Number.POSITIVE_INFINITY : this.#lastAt + KEPT_MILLISECONDS;
  }
}
