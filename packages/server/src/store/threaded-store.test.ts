import { expect, test } from 'vitest';
import { listed } from './kept/listed.fixture.ts';
import { admission, admitJob, at, finishOf, newKey, startOf, TestStore } from './store.fixture.ts';

test('a job is under way from its admission to its end', async () => {
  await using testStore = await TestStore.open();
  const { store } = testStore;
  const key = await admitJob(store);
  expect([store.isUnderWay(key), store.isUnderWay(newKey())]).toEqual([true, false]);
  await store.start(startOf(key));
  expect(store.isUnderWay(key)).toBe(true);
  await store.finish(finishOf(key));
  expect(store.isUnderWay(key)).toBe(false);
});

test('a queued job is no longer under way once it is cancelled', async () => {
  await using testStore = await TestStore.open();
  const { store } = testStore;
  const key = await admitJob(store);
  await store.requestCancel({ ...key, principal: 'alice', at: at(5) });
  expect(store.isUnderWay(key)).toBe(false);
});

test('a submission that made no job is not under way', async () => {
  await using testStore = await TestStore.open();
  const { store } = testStore;
  const idempotency = { key: 'once', spec_sha256: 'a'.repeat(64) };
  await admitJob(store, { idempotency });
  const again = admission({ idempotency });
  expect((await store.admit(again)).kind).toBe('replayed');
  expect(store.isUnderWay(again)).toBe(false);
});

test('a list shows no removed job and no old state, even if it was read before', async () => {
  await using testStore = await TestStore.open();
  const { store } = testStore;
  const key = await admitJob(store);
  expect(await listed(store, key)).toMatchObject([{ status: 'queued' }]);
  await store.start(startOf(key));
  expect(await listed(store, key)).toMatchObject([{ status: 'running' }]);
  await store.finish(finishOf(key));
  expect(await listed(store, key)).toMatchObject([{ status: 'succeeded' }]);
  await store.deleteEnded({ before: at(1_000_000), limit: 9, unattested: 'removed' });
  expect(await listed(store, key)).toEqual([]);
});
