/** The entry of both threads of the store. It exports nothing, and serves the port that it was started with. */
import assert from 'node:assert';
import { parentPort, workerData } from 'node:worker_threads';
import '../../../ground/near-imports.ts';
import { serveStore } from '../../threads/store-thread.ts';
import type { Started } from '../../threads/threads.ts';

assert(parentPort !== null, 'each side of the store runs as a thread');
const { side, data } = workerData as Started;
const { storeErrorOf } = await import('../error.ts');
const open = side === 'writer' ? (await import('./writer.ts')).openWriter : (await import('./reader.ts')).openReader;
serveStore(parentPort, { open: (report) => open(data, report), errorOf: storeErrorOf });
