/**
 * Prepares many cells at once, or one cell alone. While a cell is prepared alone, any control group that appears on the
 * host belongs to this cell.
 */
export class Preparing {
  #alone: Promise<unknown> = Promise.resolve();
  readonly #together = new Set<Promise<unknown>>();

  /** Prepares a cell while others may be prepared too, but never while a cell is prepared alone. */
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

  /** Waits until no other cell is being prepared, prepares this cell, and makes later cells wait until this cell is ready. */
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
