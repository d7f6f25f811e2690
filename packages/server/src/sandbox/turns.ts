/**
 * Lets so many do something at a time, and the others in the order in which they came. A burst of work that has a deadline
 * would otherwise fail as a whole where each of it alone would be quick.
 */

export class Turns {
  #free: number;
  readonly #waiting = new Set<() => void>();

  /** @param atOnce how many may be at it together */
  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Does the work when its turn comes. Rejects with the signal's reason where that aborts before. */
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

  /** Hands the turn on: it is never free while somebody waits. */
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
