import type { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { admission, TestStore } from '../store.fixture.ts';
import { StoreError } from '../store-error.ts';
import { SQLITE_THREADS } from './open.ts';

/** A store, and the threads that it started: the writer and the reader. */
async function withThreads(): Promise<{ testStore: TestStore; threads: Worker[] }> {
  const threads: Worker[] = [];
  const remember = (worker: Worker) => threads.push(worker);
  process.on('worker', remember);
  const testStore = await TestStore.open(SQLITE_THREADS);
  process.off('worker', remember);
  return { testStore, threads };
}

test.each([
  ['writes', 0],
  ['reads', 1],
])('when the thread that %s dies, every call is refused as unavailable, and none hangs', async (_, place) => {
  const { testStore, threads } = await withThreads();
  await using _testStore = testStore;
  const { store } = testStore;
  expect(threads).toHaveLength(2);
  const waiting = Array.from({ length: 20 }, () => [store.admit(admission()), store.counts()]).flat();
  const settled = Promise.allSettled(waiting);
  await threads[place]?.terminate();
  const refusals = (await settled).flatMap((call) => (call.status === 'rejected' ? [call.reason as unknown] : []));
  expect(refusals.every((reason) => reason instanceof StoreError && reason.code === 'unavailable')).toBe(true);
  await expect(store.probe()).rejects.toMatchObject({ code: 'unavailable' });
  await expect(store.counts()).rejects.toMatchObject({ code: 'unavailable' });
  expect(testStore.problems).toMatchObject([{ code: 'unavailable' }]);
});

test('an acknowledged write survives the death of a thread', async () => {
  const { testStore, threads } = await withThreads();
  await using _testStore = testStore;
  const input = admission();
  await testStore.store.admit(input);
  await threads[0]?.terminate();
  expect((await (await testStore.reopen()).job(input))?.status).toBe('queued');
});

test('closing a store answers every waiting write', async () => {
  await using testStore = await TestStore.open(SQLITE_THREADS);
  const inputs = Array.from({ length: 300 }, () => admission());
  const admitted = Promise.all(inputs.map((input) => testStore.store.admit(input)));
  await testStore.close();
  expect((await admitted).every((result) => result.kind === 'created')).toBe(true);
  const store = await testStore.reopen();
  expect((await store.counts()).queued).toBe(300);
});
