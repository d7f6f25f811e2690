/**
 * The service's side of the thread that watches limits. The thread starts with the first program and is ended when no program
 * has run for a while; the next program starts it again. A thread that watches nothing would take some 6 MiB of memory.
 */
import { Worker } from 'node:worker_threads';
import type { WatchMessage, WatchRequest } from './watch-messages.ts';

/** How long the thread is kept without a program. Starting it takes some 20 ms of processor time in addition to the program. */
const idleMillisecondsMax = 30_000;

export class WatchingThread {
  /** The thread for all programs of this process. */
  static readonly ofProcess = new WatchingThread();

  readonly #idleMilliseconds: number;
  readonly #watched = new Set<number>();
  #worker: Worker | null = null;
  #timer: NodeJS.Timeout | undefined;

  /** @param idleMilliseconds how long the thread stays without a program. Tests shorten it. */
  constructor(idleMilliseconds = idleMillisecondsMax) {
    this.#idleMilliseconds = idleMilliseconds;
  }

  get isRunning(): boolean {
    return this.#worker !== null;
  }

  watch(request: WatchRequest): void {
    clearTimeout(this.#timer);
    this.#watched.add(request.id);
    this.#worker ??= startWorker();
    this.#worker.postMessage(request satisfies WatchMessage);
  }

  /** Called when the program with this id is over. `isTold`: whether the thread needs a message to notice this. Idempotent. */
  forget(id: number, { isTold }: { readonly isTold: boolean }): void {
    if (!this.#watched.delete(id)) return;
    if (isTold) this.#worker?.postMessage({ kind: 'forget', id } satisfies WatchMessage);
    if (this.#watched.size === 0) this.#timer = setTimeout(() => this.#end(), this.#idleMilliseconds).unref();
  }

  #end(): void {
    void this.#worker?.terminate();
    this.#worker = null;
  }
}

/**
 * Starts the thread, which does not keep the process alive. Without the thread no limit would be enforced. So if the thread dies,
 * the service dies, and every program with it.
 */
function startWorker(): Worker {
  const worker = new Worker(new URL('./watch-thread.ts', import.meta.url), { execArgv: [] });
  worker.on('error', (cause) => {
    throw new Error('the thread that watches limits died', { cause });
  });
  worker.unref();
  return worker;
}
