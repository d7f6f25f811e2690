import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobKey } from '../../store/records/rows.ts';
import { admitJob, finishOf, runJob, TestStore } from '../../store/store.fixture.ts';
import type { Store } from '../../store/store.ts';
import { createLog } from '../../telemetry/log/log.ts';
import { createRetention, removeOld } from './retention.ts';

let testStore: TestStore;
let store: Store;
beforeAll(async () => {
  testStore = await TestStore.open();
  store = testStore.store;
});
afterAll(() => testStore[Symbol.asyncDispose]());

const log = createLog('silent');
const signal = new AbortController().signal;
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

async function endedJob(days: number): Promise<JobKey> {
  const key = await runJob(store);
  await store.finish(finishOf(key, { finished_at: daysAgo(days) }));
  return key;
}

const isThere = async (key: JobKey) => (await store.jobSummary(key)) !== null;

test('all jobs whose retention is over are removed, however many there are, and all others are kept', async () => {
  const old: JobKey[] = [];
  for (let ordinal = 0; ordinal < 11; ordinal++) old.push(await endedJob(7.01));
  const [recent, queued] = [await endedJob(6.99), await admitJob(store)];
  expect(await removeOld({ store, log, days: 7, unattested: 'removed' }, signal)).toBe(11);
  for (const key of old) expect(await isThere(key)).toBe(false);
  expect(await isThere(recent)).toBe(true);
  expect(await isThere(queued)).toBe(true);
});

test('a job without an attestation is kept while signing is on, and removed while signing is off', async () => {
  const waiting = await endedJob(9);
  expect(await removeOld({ store, log, days: 8, unattested: 'kept' }, signal)).toBe(0);
  expect(await isThere(waiting)).toBe(true);
  expect(await removeOld({ store, log, days: 8, unattested: 'removed' }, signal)).toBe(1);
});

test('the retention loop removes old jobs at the start, and stops when it is disposed', async () => {
  const old = await endedJob(9);
  const looked = Promise.withResolvers<void>();
  const watched: Pick<Store, 'deleteEnded' | 'deleteEndedGradings'> = {
    deleteEndedGradings: (input) => store.deleteEndedGradings(input),
    deleteEnded: async (input) => {
      const removed = await store.deleteEnded(input);
      looked.resolve();
      return removed;
    },
  };
  await using retention = createRetention({ store: watched, log, days: 8, unattested: 'removed' });
  retention.start();
  await looked.promise;
  expect(await isThere(old)).toBe(false);
});

test('the retention loop continues after a store error, and can still be stopped', async () => {
  const asked = Promise.withResolvers<void>();
  const deleteEnded = () => {
    asked.resolve();
    return Promise.reject(new Error('busy'));
  };
  await using retention = createRetention({ store: { ...store, deleteEnded }, log, days: 8, unattested: 'kept' });
  retention.start();
  await expect(asked.promise).resolves.toBeUndefined();
});
