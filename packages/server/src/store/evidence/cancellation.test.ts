import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobKey } from '../records/rows.ts';
import { admitJob, at, finishOf, runJob, startOf, stdout, TestStore } from '../store.fixture.ts';
import type { Store } from '../store.ts';

let testStore: TestStore;
beforeAll(async () => {
  testStore = await TestStore.open();
});
afterAll(() => testStore[Symbol.asyncDispose]());

const cancelOf = (key: JobKey) => ({ ...key, principal: 'alice', at: at(15) });

async function kinds(store: Store, key: JobKey): Promise<string[] | undefined> {
  return (await store.events({ key, after: 0, limit: 100 }))?.events.map((event) => event.kind);
}

test('a queued job that is cancelled ends at once, with its receipt and its place in the outbox', async () => {
  const { store } = testStore;
  const key = await admitJob(store);
  const before = (await store.counts()).outbox;
  expect(await store.requestCancel(cancelOf(key))).toEqual({ kind: 'cancelled' });
  const job = await store.job(key);
  expect(job).toMatchObject({
    status: 'cancelled',
    terminal_reason: 'cancelled',
    cancellation_requested: true,
    started_at: null,
    finished_at: at(15),
    exit_code: null,
    execution: null,
  });
  expect(await kinds(store, key)).toEqual(['queued', 'cancel_requested', 'finished']);
  expect(JSON.parse(job?.receipt_json ?? '{}')).toMatchObject({ status: 'cancelled', event_chain: { count: 3 } });
  expect((await store.counts()).outbox).toBe(before + 1);
  expect(await store.start(startOf(key))).toBe(false);
});

test('the end of a job is never before its submission, even if the clock was set back', async () => {
  const { store } = testStore;
  const key = await admitJob(store);
  const { created_at } = (await store.job(key)) ?? {};
  await store.requestCancel({ ...cancelOf(key), at: at(-86_400_000) });
  expect(await store.job(key)).toMatchObject({ status: 'cancelled', created_at, finished_at: created_at });
});

test('cancelling a running job twice records one request, and the job still runs', async () => {
  const { store } = testStore;
  const key = await runJob(store);
  expect(await store.requestCancel(cancelOf(key))).toMatchObject({ kind: 'running' });
  expect(await store.requestCancel(cancelOf(key))).toMatchObject({ kind: 'running' });
  expect(await store.job(key)).toMatchObject({ status: 'running', cancellation_requested: true });
  const page = await store.events({ key, after: 2, limit: 9 });
  expect(page?.events).toMatchObject([{ kind: 'cancel_requested', data: { principal: 'alice' } }]);
  expect(await store.append(key, [stdout('last words')])).toBe(true);
  await store.finish(finishOf(key, { status: 'cancelled', terminal_reason: 'cancelled', exit_code: null }));
  expect(await store.requestCancel(cancelOf(key))).toEqual({ kind: 'already_terminal' });
  expect(await kinds(store, key)).toEqual(['queued', 'started', 'cancel_requested', 'stdout', 'finished']);
});

test('cancelling an unknown job and a job of another tenant gives the same answer', async () => {
  const { store } = testStore;
  const key = await admitJob(store);
  expect(await store.requestCancel(cancelOf({ ...key, tenant: 'other' }))).toEqual({ kind: 'not_found' });
  expect(await store.requestCancel(cancelOf({ ...key, job_id: 'job_unknown' }))).toEqual({ kind: 'not_found' });
  expect((await store.job(key))?.status).toBe('queued');
});

test('if a job is started and cancelled at the same time, only the first of the two requests finds it queued', async () => {
  const { store } = testStore;
  for (let round = 0; round < 20; round++) {
    const key = await admitJob(store);
    const [cancelled, started] =
      round % 2 === 0
        ? await Promise.all([store.requestCancel(cancelOf(key)), store.start(startOf(key))])
        : (await Promise.all([store.start(startOf(key)), store.requestCancel(cancelOf(key))])).reverse();
    expect([cancelled, started]).toMatchObject(
      round % 2 === 0 ? [{ kind: 'cancelled' }, false] : [{ kind: 'running' }, true],
    );
  }
});

test('the list of jobs that an earlier process left running says which were to be cancelled', async () => {
  await using own = await TestStore.open();
  const plain = await runJob(own.store);
  const asked = await runJob(own.store, { tenant: 'other' });
  await own.store.requestCancel(cancelOf(asked));
  await own.store.finish(finishOf(await runJob(own.store)));
  await admitJob(own.store);
  const store = await own.reopen();
  const running = await store.runningJobs();
  expect([...running].sort((a, b) => a.tenant.localeCompare(b.tenant))).toEqual([
    { ...plain, started_at: at(10), cancellation_requested: false },
    { ...asked, started_at: at(10), cancellation_requested: true },
  ]);
});
