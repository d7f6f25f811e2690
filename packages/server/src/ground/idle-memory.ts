/**
 * Gives memory back to the host: the memory that a thread took while it loaded or was busy. V8 keeps free memory, and
 * returns it only when the thread allocates. An idle thread allocates nothing, so V8 would keep the memory for ever.
 */
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** The time until the first collection. A thread takes more memory while it starts than for most of its later work. */
const firstLookMilliseconds = 3000;
const lookMilliseconds = 60_000;
/** A thread that worked no longer than this between two checks is idle. A collection itself takes longer. */
const idleMillisecondsMax = 25;
/** The least growth of the heap that is worth a collection. */
const grownBytesMin = 2 * 2 ** 20;

export interface IdleMemoryOptions {
  /** How long a thread must be idle before the first collection, and before later ones. Tests shorten both. */
  readonly firstLookMilliseconds?: number;
  readonly lookMilliseconds?: number;
}

/** Collects the garbage of this thread when it is idle, until disposed. It does not keep the process alive. */
export class IdleMemory implements Disposable {
  readonly #firstLookMilliseconds: number;
  readonly #lookMilliseconds: number;
  #timer: NodeJS.Timeout;
  #isDisposed = false;
  #activeMilliseconds = performance.eventLoopUtilization().active;
  /** The size of the heap after the last collection. */
  #keptBytes = 0;

  constructor(options: IdleMemoryOptions = {}) {
    this.#firstLookMilliseconds = options.firstLookMilliseconds ?? firstLookMilliseconds;
    this.#lookMilliseconds = options.lookMilliseconds ?? lookMilliseconds;
    this.#timer = this.#lookLater();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    clearTimeout(this.#timer);
  }

  #lookLater(): NodeJS.Timeout {
    const milliseconds = this.#keptBytes === 0 ? this.#firstLookMilliseconds : this.#lookMilliseconds;
    return setTimeout(() => void this.#look(), milliseconds).unref();
  }

  async #look(): Promise<void> {
    const { active } = performance.eventLoopUtilization();
    const isIdle = active - this.#activeMilliseconds <= idleMillisecondsMax;
    // Nothing depends on a collection: if it fails, the next check tries it again.
    if (isIdle && heapBytes() - this.#keptBytes >= grownBytesMin) await this.#collect().catch(() => undefined);
    this.#activeMilliseconds = performance.eventLoopUtilization().active;
    if (!this.#isDisposed) this.#timer = this.#lookLater();
  }

  async #collect(): Promise<void> {
    // The inspector is loaded here: most threads end before they are idle.
    const { Session } = await import('node:inspector/promises');
    const session = new Session();
    session.connect();
    try {
      await session.post('HeapProfiler.collectGarbage');
    } finally {
      session.disconnect();
    }
    this.#keptBytes = heapBytes();
  }
}

function heapBytes(): number {
  return getHeapStatistics().total_heap_size;
}
