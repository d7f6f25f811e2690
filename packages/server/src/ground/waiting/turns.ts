/**
 * Lets only so many callers work at a time; the others wait and get their turn in order. Without this bound, a burst of work with
 * a deadline could fail as a whole, although each piece of work is fast by itself.
 */

export class Turns {
  #free: number;
  readonly #waiting = new Set<() => void>();

  /** @param atOnce how many may work at a time */
  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Does the work when its turn comes. Rejects with the signal's reason if the signal aborts earlier. */
  async take<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#turn(signal);
    try {
      return await work();
    } finally {
      this.#pass();
    }
  }

  async #turn(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      this.#waiting.delete(resolve);
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', leave, { once: true });
    this.#waiting.add(resolve);
    await promise;
    signal?.removeEventListener('abort', leave);
  }

  /** Passes the turn to the next caller. A turn is never free while a caller waits. */
  #pass(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
