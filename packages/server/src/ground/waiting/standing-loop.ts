/** Work that a service repeats until it stops. */

/** Does one round after another, from `start` until it is stopped. A round must stop waiting when its signal aborts. */
export class StandingLoop implements AsyncDisposable {
  readonly #round: (signal: AbortSignal) => Promise<void>;
  readonly #stopping = new AbortController();
  #ended: Promise<void> | null = null;

  /** @param round must not reject: its owner handles failures */
  constructor(round: (signal: AbortSignal) => Promise<void>) {
    this.#round = round;
  }

  /** Begins the rounds; a second call has no effect. `first` is done once, before the first round. */
  start(first: () => Promise<unknown> = () => Promise.resolve()): void {
    this.#ended ??= this.#run(first);
  }

  /** Whether the loop was started and is not stopped. */
  get isGoing(): boolean {
    return this.#ended !== null && !this.#stopping.signal.aborted;
  }

  /** Begins no further round, and aborts the signal of the current round, which wakes the round if it is waiting. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Stops, and waits for the current round. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.#ended;
  }

  async #run(first: () => Promise<unknown>): Promise<void> {
    const { signal } = this.#stopping;
    await first();
    while (!signal.aborted) await this.#round(signal);
  }
}
