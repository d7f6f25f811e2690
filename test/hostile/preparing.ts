/**
 * Prepares many cells at once, or one cell alone. A control group that appears on the host while a cell is prepared alone
 * belongs to this cell.
 */
export class Preparing {
  #alone: Promise<unknown> = Promise.resolve();
  readonly #together = new Set<Promise<unknown>>();

  /** Prepares a cell at the same time as others, but never while a cell is prepared alone. */
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

  /** Waits until no other cell is being prepared, prepares this one, and makes later ones wait until it is done. */
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
