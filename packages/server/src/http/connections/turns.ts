/**
 * Spreads work that could fill the event loop over many of its turns. Callers are called back in the order in which they
 * asked, a few in each turn of the loop, so that other work runs in between.
 *
 * New connections come first. Node accepts one connection in each turn of the loop, however many wait. If two hundred
 * wait, the last one waits for two hundred turns of the loop, so each turn must be short.
 */

/** How many callbacks are made in one turn of the event loop: about a millisecond of requests. */
const turnsAtOnce = 16;

/** The same for a turn of the event loop in which a connection was accepted. It is lower, because more may be waiting. */
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
