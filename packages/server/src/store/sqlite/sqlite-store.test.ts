import type { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { admission, TestLedger } from '../ledger.fixture.ts';
import { StoreError } from '../store-error.ts';
import { THREADS } from './threads/threads.ts';

/** A store, and the threads that it started: the one that writes and the one that reads. */
async function withThreads(): Promise<{ ledger: TestLedger; threads: Worker[] }> {
  const threads: Worker[] = [];
  const remember = (worker: Worker) => threads.push(worker);
  process.on('worker', remember);
  const ledger = await TestLedger.open(THREADS);
  process.off('worker', remember);
  return { ledger, threads };
}

test.each([
  ['writes', 0],
  ['reads', 1],
])('when the thread that %s dies, every call is refused as unavailable and none hangs', async (_, place) => {
  const { ledger, threads } = await withThreads();
  await using _ledger = ledger;
  const { store } = ledger;
  expect(threads).toHaveLength(2);
  const waiting = Array.from({ length: 20 }, () => [store.admit(admission()), store.counts()]).flat();
  const settled = Promise.allSettled(waiting);
  await threads[place]?.terminate();
  const refusals = (await settled).flatMap((call) => (call.status === 'rejected' ? [call.reason as unknown] : []));
  expect(refusals.every((reason) => reason instanceof StoreError && reason.code === 'unavailable')).toBe(true);
  await expect(store.probe()).rejects.toMatchObject({ code: 'unavailable' });
  await expect(store.counts()).rejects.toMatchObject({ code: 'unavailable' });
  expect(ledger.troubles).toMatchObject([{ code: 'unavailable' }]);
});

test('an acknowledged write is there when the store is opened again after a thread died', async () => {
  const { ledger, threads } = await withThreads();
  await using _ledger = ledger;
  const input = admission();
  await ledger.store.admit(input);
  await threads[0]?.terminate();
  expect((await (await ledger.reopen()).job(input))?.status).toBe('queued');
});

test('closing answers every waiting write', async () => {
  await using ledger = await TestLedger.open(THREADS);
  const inputs = Array.from({ length: 300 }, () => admission());
  const admitted = Promise.all(inputs.map((input) => ledger.store.admit(input)));
  await ledger.close();
  expect((await admitted).every((result) => result.kind === 'created')).toBe(true);
  const store = await ledger.reopen();
  expect((await store.counts()).queued).toBe(300);
});
