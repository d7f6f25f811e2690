/** Work that a service repeats until it stops. */

/** Does one round after another from `start` until it is stopped. A round that must wait does so on the signal. */
export class StandingLoop implements AsyncDisposable {
  readonly #round: (signal: AbortSignal) => Promise<void>;
  readonly #stopping = new AbortController();
  #ended: Promise<void> | null = null;

  /** @param round must not reject: its owner handles failures */
  constructor(round: (signal: AbortSignal) => Promise<void>) {
    this.#round = round;
  }

  /** Begins the rounds; without effect a second time. `first` is done once, before the first round. */
  start(first: () => Promise<unknown> = () => Promise.resolve()): void {
    this.#ended ??= this.#run(first);
  }

  /** Whether it was started and not yet stopped. */
  get isGoing(): boolean {
    return this.#ended !== null && !this.#stopping.signal.aborted;
  }

  /** Begins no further round, and wakes the current one if it waits. */
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
