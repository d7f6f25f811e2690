import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import type { JobKey } from '../../records/rows.ts';
import { runJob, stdout } from '../../store.fixture.ts';
import type { Store } from '../../store.ts';
import { POSTGRES_SAME_THREAD } from '../../threads.fixture.ts';
import { openPostgresStore } from '../postgres-store.ts';
import { proxyTo } from '../proxy.fixture.ts';
import { dropSchema, newSchema } from '../schema.fixture.ts';

let url: string;
beforeEach(async () => {
  url = await newSchema(inject('postgresUrl'));
});
afterEach(() => dropSchema(url));

function opened(at = url): Promise<Store> {
  return openPostgresStore({ url: at, check: 'off', onProblem: () => {}, threads: POSTGRES_SAME_THREAD });
}

async function texts(store: Store, key: JobKey): Promise<unknown[]> {
  const page = await store.events({ key, after: 0, limit: 100 });
  return (page?.events ?? []).filter(({ kind }) => kind === 'stdout').map(({ data }) => data);
}

test('a change that is on disk when the server ends in a panic is acknowledged once and stored once', async () => {
  using proxy = await proxyTo(url);
  await using store = await opened(proxy.url);
  const key = await runJob(store);
  proxy.panic();
  expect(await store.append(key, [stdout('once')])).toBe(true);
  expect(await texts(store, key)).toEqual([{ text: 'once' }]);
});

test('a group that is on disk when the server ends in a panic is acknowledged once and stored once', async () => {
  using proxy = await proxyTo(url);
  await using store = await opened(proxy.url);
  const keys = [await runJob(store), await runJob(store)];
  proxy.panic();
  const appended = await Promise.all(keys.map((key) => store.append(key, [stdout('once')])));
  expect(appended).toEqual([true, true]);
  for (const key of keys) expect(await texts(store, key)).toEqual([{ text: 'once' }]);
});
