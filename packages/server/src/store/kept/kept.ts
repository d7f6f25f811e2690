/**
 * Keeps recently read or made values, within a bound. A kept value is returned without a read; a dropped value is read again.
 * Keep only values that never change, or that their owner clears before they change.
 */

export interface KeptOptions<Value> {
  /** The bound on all kept values together, in the unit of `sizeOf`. */
  readonly sizeMax: number;
  readonly sizeOf: (value: Value) => number;
  /** How long a kept value may be returned; forever if omitted. */
  readonly millisecondsMax?: number;
}

/** Values by name. The values kept longest are forgotten first. */
export class Kept<Value> {
  readonly #options: KeptOptions<Value>;
  readonly #values = new Map<string, { readonly value: Value; readonly until: number }>();
  #size = 0;

  constructor(options: KeptOptions<Value>) {
    this.#options = options;
  }

  get(name: string): Value | undefined {
    const kept = this.#values.get(name);
    if (kept !== undefined && performance.now() > kept.until) this.forget(name);
    return this.#values.get(name)?.value;
  }

  /** Keeps a value. This call does nothing if the name has a value, or if this value alone exceeds the bound. */
  keep(name: string, value: Value): void {
    const { sizeMax, sizeOf, millisecondsMax = Number.POSITIVE_INFINITY } = this.#options;
    if (sizeOf(value) > sizeMax || this.#values.has(name)) return;
    this.#values.set(name, { value, until: performance.now() + millisecondsMax });
    this.#size += sizeOf(value);
    // A Map lists its entries in the order of their insertion.
    for (const [oldest, kept] of this.#values) {
      if (this.#size <= sizeMax) break;
      this.#values.delete(oldest);
      this.#size -= sizeOf(kept.value);
    }
  }

  forget(name: string): void {
    const kept = this.#values.get(name);
    if (kept === undefined) return;
    this.#values.delete(name);
    this.#size -= this.#options.sizeOf(kept.value);
  }

  /** Forgets everything. */
  clear(): void {
    this.#values.clear();
    this.#size = 0;
  }
}
