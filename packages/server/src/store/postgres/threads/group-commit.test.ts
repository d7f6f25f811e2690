import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import type { JobKey } from '../../records/rows.ts';
import { runJob, stdout } from '../../store.fixture.ts';
import type { Store } from '../../store.ts';
import { POSTGRES_SAME_THREAD } from '../../threads.fixture.ts';
import { Session } from '../connection.ts';
import { openPostgresStore } from '../open.ts';
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

/** Runs a statement as an operator does, beside the service. */
async function operate(sql: string, at = url): Promise<void> {
  await using session = await Session.open(at, {});
  await session.execute({ sql, parameters: [] });
}

async function texts(store: Store, key: JobKey): Promise<unknown[]> {
  const page = await store.events({ key, after: 0, limit: 100 });
  return (page?.events ?? []).filter(({ kind }) => kind === 'stdout').map(({ data }) => data);
}

test('a change that reached the disk before the server crashed is stored once and acknowledged', async () => {
  using proxy = await proxyTo(url);
  await using store = await opened(proxy.url);
  const key = await runJob(store);
  proxy.panic();
  expect(await store.append(key, [stdout('once')])).toBe(true);
  expect(await texts(store, key)).toEqual([{ text: 'once' }]);
});

test('a group of changes that reached the disk before the server crashed is stored once and acknowledged', async () => {
  using proxy = await proxyTo(url);
  await using store = await opened(proxy.url);
  const keys = [await runJob(store), await runJob(store)];
  proxy.panic();
  const appended = await Promise.all(keys.map((key) => store.append(key, [stdout('once')])));
  expect(appended).toEqual([true, true]);
  for (const key of keys) expect(await texts(store, key)).toEqual([{ text: 'once' }]);
});

test.each([
  ['XX001', 'corrupt'],
  ['58030', 'io'],
])('a change that meets a damaged row (%s) fails alone, and the rest of its group is stored', async (state, code) => {
  await using store = await opened();
  const [bad, good] = [await runJob(store), await runJob(store)];
  await operate(`create function fail() returns trigger language plpgsql as $$ begin
    if new.job_id = '${bad.job_id}' then raise 'damaged' using errcode = '${state}'; end if;
    return new; end $$`);
  await operate('create trigger fail before insert on events for each row execute function fail()');
  const appended = [bad, good].map((key) => store.append(key, [stdout('once')]));
  const answers = await Promise.allSettled(appended);
  expect(answers).toEqual([
    { status: 'rejected', reason: expect.objectContaining({ code }) as unknown },
    { status: 'fulfilled', value: true },
  ]);
  expect(await texts(store, good)).toEqual([{ text: 'once' }]);
  expect(await texts(store, bad)).toEqual([]);
});

test('the outcome of a commit without an answer is looked up once the database accepts writes again', async () => {
  const own = new URL(inject('postgresUrl'));
  own.pathname = '/switched_over';
  // An operator may still write, whatever the setting for new sessions.
  const writable = `${own.href}?options=-c%20default_transaction_read_only%3Doff`;
  await operate('create database switched_over');
  using proxy = await proxyTo(own.href);
  const store = await opened(proxy.url);
  const key = await runJob(store);
  // New sessions cannot change anything, as on a server that is not yet the primary.
  await operate('alter database switched_over set default_transaction_read_only = on', writable);
  const before = proxy.connections;
  proxy.cut();
  const becomesPrimary = async () => {
    await expect.poll(() => proxy.connections).toBeGreaterThan(before + 1);
    await operate('alter database switched_over reset default_transaction_read_only', writable);
  };
  const [isStored] = await Promise.all([store.append(key, [stdout('once')]), becomesPrimary()]);
  expect(isStored).toBe(true);
  expect(await texts(store, key)).toEqual([{ text: 'once' }]);
  await store[Symbol.asyncDispose]();
  await operate('drop database switched_over with (force)');
});
