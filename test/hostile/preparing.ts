/**
 * Prepares many cells at once, or one alone. While one is prepared alone, a control group that appears on the host is
 * its own.
 */
export class Preparing {
  #alone: Promise<unknown> = Promise.resolve();
  readonly #together = new Set<Promise<unknown>>();

  /** Prepares beside others, but not beside one that is prepared alone. */
  async together<Result>(prepare: () => Promise<Result>): Promise<Result> {
    for (let waitedFor: unknown; waitedFor !== this.#alone; ) {
      waitedFor = this.#alone;
      await this.#alone;
    }
    const prepared = prepare();
    const settled = prepared.catch(() => {});
    this.#together.add(settled);
    return await prepared.finally(() => this.#together.delete(settled));
  }

  /** Prepares when no other is being prepared, and holds the others back meanwhile. */
  alone<Result>(prepare: () => Promise<Result>): Promise<Result> {
    const before = this.#alone;
    const prepared = before.then(async () => {
      await Promise.all(this.#together);
      return await prepare();
    });
    this.#alone = prepared.catch(() => {});
    return prepared;
  }
}
