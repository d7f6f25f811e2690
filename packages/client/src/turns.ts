/**
 * Turns, first come, first served: a client has no more runs open than the service allows its tenant. The other runs wait
 * here, in order, and use none of the service's resources while they wait.
 */

/** How many of a client's runs are open at the service, and how many wait for their turn. */
export interface OpenRuns {
  readonly open: number;
  readonly waiting: number;
}

/** The turns of one client. */
export class Turns implements OpenRuns {
  readonly #waiting = new Set<() => void>();
  #open = 0;

  get open(): number {
    return this.#open;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Waits until fewer than `most` turns are taken, and takes one. The caller must end the turn with `passOn`. If the signal
   * aborts before, rejects with the signal's reason.
   */
  async take(most: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#open < most && this.#waiting.size === 0) {
      this.#open += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.delete(begin);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.#waiting.add(begin);
    });
  }

  /** Ends a turn, and gives it to the caller who has waited longest. */
  passOn(): void {
    const [begin] = this.#waiting;
    if (begin === undefined) {
      this.#open -= 1;
      return;
    }
    this.#waiting.delete(begin);
    begin();
  }
}
