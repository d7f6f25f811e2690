/** The entry of the thread that changes the store. It exports nothing, and serves the port that it was started with. */
import assert from 'node:assert';
import { parentPort, workerData } from 'node:worker_threads';
import '../../../ground/near-imports.ts';
import type { ThreadData } from '../../threads/messages.ts';
import { serveStore } from '../../threads/store-thread.ts';

assert(parentPort !== null, 'the writer runs as a thread');
const { openWriter } = await import('./writer.ts');
const { storeErrorOf } = await import('../error.ts');
serveStore(parentPort, { open: (report) => openWriter(workerData as ThreadData, report), errorOf: storeErrorOf });
