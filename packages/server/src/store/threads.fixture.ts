/**
 * For tests: both sides of a store on the thread of the test, which exchange the same messages as its threads do. Such
 * a store opens without loading everything twice more. Tests about threads use real ones.
 */
import { MessageChannel } from 'node:worker_threads';
import type { Report } from './sqlite/threads/messages.ts';
import { openReader } from './sqlite/threads/reader.ts';
import { type OpenThread, serveStore } from './sqlite/threads/store-thread.ts';
import type { Thread, Threads } from './sqlite/threads/threads.ts';
import { openWriter } from './sqlite/threads/writer.ts';

export const SAME_THREAD: Threads = {
  writer: (data) => served((report) => openWriter(data, report)),
  reader: (data) => served((report) => openReader(data, report)),
};

/** What it throws beside its answers is an unhandled rejection, which fails the run. */
function served(open: OpenThread): Thread {
  const { port1, port2 } = new MessageChannel();
  serveStore(port2, open);
  return {
    postMessage: (request) => port1.postMessage(request),
    on(event: 'message' | 'error' | 'exit', listener: (report: Report) => void) {
      if (event === 'message') port1.on('message', listener);
      if (event === 'exit') port1.on('close', listener);
    },
  };
}
