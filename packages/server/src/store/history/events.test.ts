import { eventHash, GENESIS_HASH, type LinkedEvent } from '@vouchbox/evidence';
import type { EventBody, JobEvent } from '@vouchbox/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobKey } from '../records/rows.ts';
import { admitJob, at, finishOf, runJob, stdout, TestStore } from '../store.fixture.ts';
import type { Store } from '../store.ts';

let testStore: TestStore;
beforeAll(async () => {
  testStore = await TestStore.open();
});
afterAll(() => testStore[Symbol.asyncDispose]());

async function history(store: Store, key: JobKey): Promise<readonly JobEvent[]> {
  return (await store.events({ key, after: 0, limit: 1000 }))?.events ?? [];
}

/** Recomputes every link of a chain from the events that a reader gets. */
function expectChain(events: readonly JobEvent[]): void {
  let previous = GENESIS_HASH;
  for (const [index, event] of events.entries()) {
    expect(event.seq).toBe(index + 1);
    expect(event.prev_hash).toBe(previous);
    expect(event.event_hash).toBe(eventHash(event as LinkedEvent));
    previous = event.event_hash ?? '';
  }
}

test('events are numbered from 1 without gaps and chained from the genesis hash (Spec § Events 7)', {
  tags: ['Events-7'],
}, async () => {
  const { store } = testStore;
  const key = await runJob(store);
  await store.append(key, [stdout('a'), { kind: 'stderr', timestamp: at(21), data: { text: 'ü', partial: true } }]);
  await store.append(key, [stdout('b')]);
  await store.finish(finishOf(key));
  const events = await history(store, key);
  expect(events.map((event) => event.kind)).toEqual(['queued', 'started', 'stdout', 'stderr', 'stdout', 'finished']);
  expectChain(events);
});

test('concurrent appends keep their order', { tags: ['CHAIN-07'] }, async () => {
  const { store } = testStore;
  const key = await runJob(store);
  await Promise.all(Array.from({ length: 200 }, (_, line) => store.append(key, [stdout(`line ${line}`)])));
  const events = (await history(store, key)).filter((event) => event.kind === 'stdout');
  expect(events.map((event) => event.data)).toEqual(
    Array.from({ length: 200 }, (_, line) => ({ text: `line ${line}` })),
  );
  expectChain(await history(store, key));
});

test('text survives exactly: quotes, controls, astral characters, NUL', async () => {
  const { store } = testStore;
  const key = await runJob(store);
  const texts = ['', '"\\\u0000\u001f', '💥\u{10ffff}', '\u2028\ufeff', `${'x'.repeat(16_384)}`];
  await store.append(
    key,
    texts.map((text) => stdout(text)),
  );
  const events = (await history(store, key)).filter((event) => event.kind === 'stdout');
  expect(events.map((event) => (event.data as { text: string }).text)).toEqual(texts);
  expectChain(await history(store, key));
});

test('a page starts after its cursor, and is marked complete if it is the last page of an ended job', async () => {
  const { store } = testStore;
  const key = await runJob(store);
  await store.append(key, [stdout('a'), stdout('b')]);
  const page = (after: number, limit: number) => store.events({ key, after, limit });
  expect((await page(0, 2))?.events.map((event) => event.seq)).toEqual([1, 2]);
  expect((await page(2, 2))?.events.map((event) => event.seq)).toEqual([3, 4]);
  expect(await page(4, 2)).toEqual({ events: [], complete: false });
  await store.finish(finishOf(key));
  expect((await page(2, 2))?.complete).toBe(false);
  expect(await page(4, 1)).toMatchObject({ events: [{ seq: 5, kind: 'finished' }], complete: true });
  expect(await page(5, 1)).toEqual({ events: [], complete: true });
  expect(await page(900, 1)).toEqual({ events: [], complete: true });
});

test('events are stored only for a running job', async () => {
  const { store } = testStore;
  const queued = await admitJob(store);
  const ended = await runJob(store);
  await store.finish(finishOf(ended));
  expect(await store.append(queued, [stdout('x')])).toBe(false);
  expect(await store.append(ended, [stdout('x')])).toBe(false);
  expect(await store.append({ tenant: 'acme', job_id: 'job_unknown' }, [stdout('x')])).toBe(false);
  expect(await store.append({ ...ended, tenant: 'other' }, [stdout('x')])).toBe(false);
  expect((await history(store, queued)).map((event) => event.kind)).toEqual(['queued']);
  expect((await history(store, ended)).at(-1)?.kind).toBe('finished');
});

test('a lifecycle event cannot be appended, because only a transition of the job writes it', async () => {
  const { store } = testStore;
  const key = await runJob(store);
  const data = { status: 'failed', exit_code: 1, signal: null, terminal_reason: 'exited', duration_ms: 1 } as const;
  const forged: EventBody = { kind: 'finished', timestamp: at(1), data };
  await expect(store.append(key, [stdout('before'), forged])).rejects.toMatchObject({ code: 'internal' });
  expect((await history(store, key)).map((event) => event.kind)).toEqual(['queued', 'started']);
});

test('if one event has no canonical form, no event of its batch is stored, and the chain continues unbroken', async () => {
  const { store } = testStore;
  const key = await runJob(store);
  await expect(store.append(key, [stdout('good'), stdout('lone \ud800')])).rejects.toMatchObject({ code: 'internal' });
  expect(await store.append(key, [stdout('next')])).toBe(true);
  const events = await history(store, key);
  expect(events.map((event) => event.data)).toMatchObject([{}, {}, { text: 'next' }]);
  expectChain(events);
});
