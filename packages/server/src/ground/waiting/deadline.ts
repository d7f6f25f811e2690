/** A bound on waiting: a time, and signals that may end the wait sooner. */

/** `signal` aborts after the given time, or with any of the other signals. Disposing removes the timer and the listeners. */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #others: readonly AbortSignal[];
  readonly #end = () => this.#controller.abort();

  constructor(milliseconds: number, others: readonly AbortSignal[]) {
    this.#others = others;
    this.#timer = setTimeout(this.#end, milliseconds);
    for (const other of others) {
      if (other.aborted) this.#end();
      other.addEventListener('abort', this.#end, { once: true });
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const other of this.#others) other.removeEventListener('abort', this.#end);
  }
}
