/**
 * Lets work that could fill the event loop have it for a little at a time. What asks for a turn gets one in the order of
 * asking, a few in each turn of the loop, so that everything else is served in between.
 */

/** Turns given out in one turn of the event loop: about a millisecond of requests. */
const turnsAtOnce = 16;

export class Turns {
  readonly #asked: (() => void)[] = [];
  #isScheduled = false;

  /** Calls back once, in a later turn of the event loop. */
  ask(callback: () => void): void {
    this.#asked.push(callback);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      for (const callback of this.#asked.splice(0, turnsAtOnce)) callback();
      if (this.#asked.length > 0) this.#schedule();
    });
  }
}
