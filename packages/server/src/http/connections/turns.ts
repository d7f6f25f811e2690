/**
 * Spreads work that could fill the event loop over many turns of the loop. Callers get their turns in the order in
 * which they asked, a few in each turn of the loop, so that other work runs in between.
 *
 * New connections come first. Node accepts one of them in each turn of the loop, however many wait. The last of two
 * hundred waits for two hundred turns, so the turns must be short.
 */

/** Turns given out in one turn of the event loop: about a millisecond of requests. */
const turnsAtOnce = 16;

/** Turns given out in a turn of the event loop that accepted a connection, because more connections may wait. */
const turnsBesideConnection = 1;

export class Turns {
  readonly #atOnce: number;
  readonly #asked: (() => void)[] = [];
  #isScheduled = false;
  #hasTakenConnection = false;

  constructor(atOnce = turnsAtOnce) {
    this.#atOnce = atOnce;
  }

  /** Notes that a connection was accepted in this turn of the event loop. */
  connectionTaken(): void {
    this.#hasTakenConnection = true;
  }

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
      const given = this.#hasTakenConnection ? turnsBesideConnection : this.#atOnce;
      this.#hasTakenConnection = false;
      for (const callback of this.#asked.splice(0, given)) callback();
      if (this.#asked.length > 0) this.#schedule();
    });
  }
}
