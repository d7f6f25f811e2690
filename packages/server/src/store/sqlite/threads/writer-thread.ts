/** The entry of the thread that changes the store. It exports nothing, and serves the port that it was started with. */
import assert from 'node:assert';
import { parentPort, workerData } from 'node:worker_threads';
import '../near-imports.ts';
import type { ThreadData } from './messages.ts';
import { serveStore } from './store-thread.ts';

assert(parentPort !== null, 'the writer runs as a thread');
const { openWriter } = await import('./writer.ts');
serveStore(parentPort, (report) => openWriter(workerData as ThreadData, report));
