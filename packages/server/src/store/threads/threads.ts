/** Starts the two threads of a store. */
import { Worker } from 'node:worker_threads';
import type { Report, Request, ThreadData } from './messages.ts';

/** The part of a thread's interface that the service uses. A `Worker` has this part. */
export interface Thread {
  /** Sends a message. The buffers in `moved` are empty here afterwards. */
  postMessage(request: Request, moved?: ArrayBuffer[]): void;
  on(event: 'message', listener: (report: Report) => void): unknown;
  /** The thread died; the event `exit` follows. */
  on(event: 'error', listener: (cause: unknown) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
}

/** What a store thread is given when it is started. */
export interface Started {
  readonly side: 'writer' | 'reader';
  readonly data: ThreadData;
}

/** Starts each side of the store. */
export interface Threads {
  writer(data: ThreadData): Thread;
  reader(data: ThreadData): Thread;
}

/**
 * V8's room for new objects, in MiB. A store thread keeps little data for longer than a call. With V8's default room, each thread
 * that handles some megabytes would hold tens of megabytes of garbage. The command `vouchbox` sets a room for every thread of its
 * process, and that room replaces this one.
 */
const newObjectsMb = 8;

/** Runs each side as a thread with this entry point. The threads do not get the process's options. */
export function threadsOf(entry: URL): Threads {
  const resourceLimits = { maxYoungGenerationSizeMb: newObjectsMb };
  const start = (workerData: Started) => new Worker(entry, { workerData, execArgv: [], resourceLimits });
  return { writer: (data) => start({ side: 'writer', data }), reader: (data) => start({ side: 'reader', data }) };
}
