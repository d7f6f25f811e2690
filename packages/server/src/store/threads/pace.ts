/** How closely calls follow each other: the mean of the pauses between the last few. */

/** A pause counts as this long at most, so that a thread that rested notices soon that it is busy. */
const pauseMillisecondsMax = 50;
/** Each pause moves the mean by this part of its difference. */
const weight = 1 / 8;
export class Pace {
  #last = Number.NEGATIVE_INFINITY;
  #meanMilliseconds = pauseMillisecondsMax;

  /** Notes a call at this moment, in milliseconds of a clock that only goes forward. */
  note(now: number): void {
    const pause = Math.min(now - this.#last, pauseMillisecondsMax);
    this.#last = now;
    this.#meanMilliseconds += (pause - this.#meanMilliseconds) * weight;
  }

  /** Whether calls follow each other more closely than this. */
  isCloserThan(milliseconds: number): boolean {
    return this.#meanMilliseconds < milliseconds;
  }
}
