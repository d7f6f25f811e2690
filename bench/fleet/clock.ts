/** Time that passes only when everybody waits, and servers that work waits for: the ground of a simulation. */

/** Servers with one queue, such as the cores of a machine. A step waits its turn and then takes its time. */
export class Station {
  readonly #queue: (() => void)[] = [];
  readonly #clock: Clock;
  readonly servers: number;
  #free: number;
  busyMs = 0;

  constructor(clock: Clock, servers: number) {
    this.#clock = clock;
    this.servers = servers;
    this.#free = servers;
  }

  /** Takes one server for this long. */
  async use(milliseconds: number): Promise<void> {
    await this.take();
    this.busyMs += milliseconds;
    await this.#clock.pass(milliseconds);
    this.release();
  }

  take(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#queue.push(resolve));
  }

  release(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

/** The clock: every wait is an entry, and the earliest entry is next. */
export class Clock {
  #entries: { readonly at: number; readonly order: number; readonly resume: () => void }[] = [];
  #order = 0;
  now = 0;

  pass(milliseconds: number): Promise<void> {
    return new Promise((resume) => this.#insert({ at: this.now + milliseconds, order: this.#order++, resume }));
  }

  /** Runs until this moment. */
  async runUntil(end: number): Promise<void> {
    for (;;) {
      await settled();
      const next = this.#entries.at(-1);
      if (next === undefined || next.at > end) break;
      this.#entries.pop();
      this.now = next.at;
      next.resume();
    }
    this.now = end;
  }

  /** Keeps the entries sorted, the earliest last. */
  #insert(entry: { at: number; order: number; resume: () => void }): void {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#entries[middle];
      if (other !== undefined && (other.at > entry.at || (other.at === entry.at && other.order > entry.order))) {
        low = middle + 1;
      } else high = middle;
    }
    this.#entries.splice(low, 0, entry);
  }
}

/** Resolves once everything that can go on without time has gone on. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
