/** The two threads of a store, as it starts them. What they run is in `writer.ts` and `reader.ts`. */
import { Worker } from 'node:worker_threads';
import type { Report, Request, ThreadData } from './messages.ts';

/** The service's end of a thread. A `Worker` is one. */
export interface Thread {
  postMessage(request: Request): void;
  on(event: 'message', listener: (report: Report) => void): unknown;
  /** It died; `exit` comes after. */
  on(event: 'error', listener: (cause: unknown) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
}

/** Starts each side of the store. */
export interface Threads {
  writer(data: ThreadData): Thread;
  reader(data: ThreadData): Thread;
}

/** Each side on a thread of its own. */
export const THREADS: Threads = {
  writer: (data) => startThread(new URL('./writer-thread.ts', import.meta.url), data),
  reader: (data) => startThread(new URL('./reader-thread.ts', import.meta.url), data),
};

/**
 * A thread of the store keeps little for longer than a call. With the room for new objects that V8 takes otherwise,
 * each thread that some megabytes pass through holds tens of them as garbage.
 */
const newObjectsMb = 8;

/** Options of the process, such as how to read its entry point, are not for its threads. */
export function startThread(module: URL, workerData: ThreadData): Worker {
  return new Worker(module, { workerData, execArgv: [], resourceLimits: { maxYoungGenerationSizeMb: newObjectsMb } });
}
