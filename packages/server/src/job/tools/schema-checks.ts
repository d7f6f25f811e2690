/**
 * The service's side of the thread that checks values against schemas. One check is made at a time, and it has a
 * deadline: if it takes longer, the thread is ended. Tenants take turns, so that a tenant with slow checks delays every
 * other tenant by only one check.
 */
import { Worker } from 'node:worker_threads';

const millisecondsMax = 500;
/** The thread's memory, enough for the largest values. A check that needs more ends the thread. */
const memoryMb = 64;

/** A value and a schema, both as JSON texts. */
export interface SchemaQuestion {
  readonly schema: string;
  readonly value: string;
}

export interface SchemaAnswer {
  /** The fault; null if the value fits. */
  readonly misfit: string | null;
  readonly failed: boolean;
}

/** The fault in a value that could not be checked. Such a value counts as one that does not fit. */
export const UNCHECKED = 'could not be checked in time';

interface Check extends SchemaQuestion {
  readonly tenant: string;
  readonly resolve: (misfit: string | null) => void;
}

/** The thread that checks values. It starts with the first check, and disposing it ends it. */
export class SchemaChecks implements AsyncDisposable {
  readonly #deadlineMilliseconds: number;
  /** Waiting checks, keyed by tenant. The tenant whose turn is next comes first. */
  readonly #waiting = new Map<string, Check[]>();
  #worker: Worker | null = null;
  #current: Check | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(deadlineMilliseconds = millisecondsMax) {
    this.#deadlineMilliseconds = deadlineMilliseconds;
  }

  /** The fault in a value, or `UNCHECKED`; null if it fits. */
  misfit(tenant: string, question: SchemaQuestion): Promise<string | null> {
    return new Promise((resolve) => {
      const others = this.#waiting.get(tenant) ?? [];
      others.push({ ...question, tenant, resolve });
      this.#waiting.set(tenant, others);
      this.#next();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#worker?.terminate();
  }

  #next(): void {
    const check = this.#current === null ? this.#taken() : null;
    if (check === null) return;
    if (this.#isOver) {
      check.resolve(UNCHECKED);
      this.#next();
      return;
    }
    this.#current = check;
    const { schema, value } = check;
    this.#worker ??= this.#started();
    this.#worker.postMessage({ schema, value } satisfies SchemaQuestion);
    if (this.#isReady) this.#watch();
  }

  #isOver = false;
  /** Whether the thread has loaded its modules, which takes long on a busy host. The time of a check begins only then. */
  #isReady = false;

  #watch(): void {
    if (this.#current === null) return;
    this.#timer = setTimeout(() => this.#lose(this.#worker), this.#deadlineMilliseconds);
  }

  #taken(): Check | null {
    const [first] = this.#waiting;
    if (first === undefined) return null;
    const [tenant, checks] = first;
    const check = checks.shift() ?? null;
    if (checks.length === 0) this.#waiting.delete(tenant);
    return check;
  }

  #started(): Worker {
    const worker = new Worker(new URL('./schema-thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    this.#isReady = false;
    worker.on('message', (told: SchemaAnswer | 'ready') => {
      if (worker !== this.#worker) return;
      if (told !== 'ready') return this.#answer(told.failed ? UNCHECKED : told.misfit);
      this.#isReady = true;
      this.#watch();
    });
    worker.on('error', () => this.#lose(worker));
    worker.on('exit', () => this.#lose(worker));
    worker.unref();
    return worker;
  }

  #answer(misfit: string | null): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const check = this.#current;
    this.#current = null;
    check?.resolve(misfit);
    if (check !== null) this.#putBehind(check.tenant);
    this.#next();
  }

  /** Moves a tenant that just had its turn behind all others. */
  #putBehind(tenant: string): void {
    const checks = this.#waiting.get(tenant);
    this.#waiting.delete(tenant);
    if (checks !== undefined) this.#waiting.set(tenant, checks);
  }

  /** Ends the thread if it still runs, and notes that it is gone. */
  #lose(worker: Worker | null): void {
    if (worker === null || worker !== this.#worker) return;
    this.#worker = null;
    void worker.terminate();
    this.#answer(UNCHECKED);
  }
}
