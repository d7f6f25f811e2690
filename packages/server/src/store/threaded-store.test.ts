import { expect, test } from 'vitest';
import { listed } from './kept/listed.fixture.ts';
import { eventText } from './records/event-text.ts';
import { admission, admitJob, at, finishOf, newKey, runJob, startOf, stdout, TestStore } from './store.fixture.ts';
import type { Threads } from './threads/threads.ts';
import { SAME_THREAD } from './threads.fixture.ts';

test('a job is in progress from its admission to its end', async () => {
  await using testStore = await TestStore.open();
  const { store } = testStore;
  const key = await admitJob(store);
  expect([store.isUnderWay(key), store.isUnderWay(newKey())]).toEqual([true, false]);
  await store.start(startOf(key));
  expect(store.isUnderWay(key)).toBe(true);
  await store.finish(finishOf(key));
  expect(store.isUnderWay(key)).toBe(false);
});

test('a queued job is no longer in progress once it is cancelled', async () => {
  await using testStore = await TestStore.open();
  const { store } = testStore;
  const key = await admitJob(store);
  await store.requestCancel({ ...key, principal: 'alice', at: at(5) });
  expect(store.isUnderWay(key)).toBe(false);
});

test('a submission that is answered with an earlier job leaves no new job in progress', async () => {
  await using testStore = await TestStore.open();
  const { store } = testStore;
  const idempotency = { key: 'once', spec_sha256: 'a'.repeat(64) };
  await admitJob(store, { idempotency });
  const again = admission({ idempotency });
  expect((await store.admit(again)).kind).toBe('replayed');
  expect(store.isUnderWay(again)).toBe(false);
});

test('a list that was already read does not show a removed job or an old state', async () => {
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

/** A store, and the names of all commands that its reader was asked to run. */
async function withReads(): Promise<{ testStore: TestStore; asked: string[] }> {
  const asked: string[] = [];
  const reader: Threads['reader'] = (data) => {
    const thread = SAME_THREAD.reader(data);
    return {
      postMessage(request, moved) {
        if (request.kind === 'calls') asked.push(...request.calls.map(({ name }) => name));
        thread.postMessage(request, moved);
      },
      on: thread.on.bind(thread),
    };
  };
  return { testStore: await TestStore.open({ ...SAME_THREAD, reader }), asked };
}

test('a follower gets new events from memory as they are stored, without a read of the store', async () => {
  const { testStore, asked } = await withReads();
  await using _testStore = testStore;
  const { store } = testStore;
  const key = await runJob(store);
  await store.append(
    key,
    [stdout('é'), { kind: 'stderr', timestamp: at(21), data: { text: 'b', partial: true } }],
    true,
  );
  const page = await store.events({ key, after: 2, limit: 64 });
  expect(asked).toEqual([]);
  const stored = await store.events({ key, after: 1, limit: 64 });
  expect(asked).toEqual(['events']);
  expect(page?.events.map(eventText)).toEqual(stored?.events.slice(1).map(eventText));
  expect(page?.complete).toBe(false);
});

test('a follower with another cursor, limit or tenant, or without awaited events, reads the store', async () => {
  const { testStore, asked } = await withReads();
  await using _testStore = testStore;
  const { store } = testStore;
  const key = await runJob(store);
  await store.append(key, [stdout('a'), stdout('b')], true);
  const numbers = async (after: number, limit: number, of = key) =>
    (await store.events({ key: of, after, limit }))?.events.map(({ seq }) => seq);
  expect(await numbers(3, 64)).toEqual([4]);
  expect(await numbers(2, 1)).toEqual([3]);
  expect(await numbers(2, 64, { ...key, tenant: 'other' })).toBeUndefined();
  await store.append(key, [stdout('c')]);
  expect(await numbers(4, 64)).toEqual([5]);
  expect(asked).toEqual(['events', 'events', 'events', 'events']);
});

test('a follower is told that the end of its job is stored, or that the job is removed', async () => {
  await using testStore = await TestStore.open();
  const { store } = testStore;
  const key = await runJob(store);
  await store.append(key, [stdout('a')], true);
  await store.finish(finishOf(key));
  expect(await store.events({ key, after: 2, limit: 64 })).toMatchObject({ events: [{}, {}], complete: true });
  await store.deleteEnded({ before: at(1_000_000), limit: 9, unattested: 'removed' });
  expect(await store.events({ key, after: 2, limit: 64 })).toBeNull();
});
