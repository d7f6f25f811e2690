/**
 * For tests: runs both sides of a store on the test's own thread. They exchange the same messages as real threads do, but
 * opening the store does not load every module on two more threads. Tests about threads use real ones.
 */
import { MessageChannel } from 'node:worker_threads';
import { storeErrorOf as postgresErrorOf } from './postgres/error.ts';
import * as postgresReader from './postgres/threads/reader.ts';
import * as postgresWriter from './postgres/threads/writer.ts';
import { storeErrorOf } from './sqlite/error.ts';
import { openReader } from './sqlite/threads/reader.ts';
import { openWriter } from './sqlite/threads/writer.ts';
import type { Report } from './threads/messages.ts';
import { serveStore, type ThreadKind } from './threads/store-thread.ts';
import type { Thread, Threads } from './threads/threads.ts';

export const SAME_THREAD: Threads = {
  writer: (data) => served({ open: (report) => openWriter(data, report), errorOf: storeErrorOf }),
  reader: (data) => served({ open: (report) => openReader(data, report), errorOf: storeErrorOf }),
};

export const POSTGRES_SAME_THREAD: Threads = {
  writer: (data) => served({ open: (report) => postgresWriter.openWriter(data, report), errorOf: postgresErrorOf }),
  reader: (data) => served({ open: (report) => postgresReader.openReader(data, report), errorOf: postgresErrorOf }),
};

/** An error that is not an answer becomes an unhandled rejection, which fails the run. */
function served(kind: ThreadKind): Thread {
  const { port1, port2 } = new MessageChannel();
  serveStore(port2, kind);
  return {
    postMessage: (request, moved = []) => port1.postMessage(request, moved),
    on(event: 'message' | 'error' | 'exit', listener: (report: Report) => void) {
      if (event === 'message') port1.on('message', listener);
      if (event === 'exit') port1.on('close', listener);
    },
  };
}
