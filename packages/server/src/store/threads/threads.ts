/** Starts the two threads of a store. */
import { Worker } from 'node:worker_threads';
import type { Report, Request, ThreadData } from './messages.ts';

/** The side of a thread that the service uses. A `Worker` has this form. */
export interface Thread {
  /** Sends a message. Buffers that are moved are empty here afterwards. */
  postMessage(request: Request, moved?: ArrayBuffer[]): void;
  on(event: 'message', listener: (report: Report) => void): unknown;
  /** The thread died; the event `exit` follows. */
  on(event: 'error', listener: (cause: unknown) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
}

/** What a thread of the store is started with. */
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
 * The room for new objects in MiB. A thread of the store keeps little data for longer than a call. With V8's default
 * room, each thread that handles some megabytes would hold tens of megabytes of garbage. The command `vouchbox` sets a
 * room for every thread of its process, and that room counts instead of this one.
 */
const newObjectsMb = 8;

/** Each side as a thread with this entry point. The thread does not get the options of the process. */
export function threadsOf(entry: URL): Threads {
  const resourceLimits = { maxYoungGenerationSizeMb: newObjectsMb };
  const start = (workerData: Started) => new Worker(entry, { workerData, execArgv: [], resourceLimits });
  return { writer: (data) => start({ side: 'writer', data }), reader: (data) => start({ side: 'reader', data }) };
}
