import { afterAll, beforeAll, expect, inject } from 'vitest';
import { slowTest, quickTest as test } from '../../../../../test/rig/form.ts';
import { startPostgres } from '../../../../../test/rig/postgres-server.ts';
import type { JobKey } from '../records/rows.ts';
import { admitJob, finishOf, runJob, stdout } from '../store.fixture.ts';
import type { Store } from '../store.ts';
import { StoreError } from '../store-error.ts';
import { POSTGRES_SAME_THREAD } from '../threads.fixture.ts';
import { Session } from './connection.ts';
import { openPostgresStore } from './open.ts';
import { proxyTo } from './proxy.fixture.ts';
import { dropSchema, newSchema } from './schema.fixture.ts';

let url: string;
beforeAll(async () => {
  url = await newSchema(inject('postgresUrl'));
});
afterAll(() => dropSchema(url));

function opened(at = url): Promise<Store> {
  return openPostgresStore({ url: at, check: 'full', onProblem: () => {}, threads: POSTGRES_SAME_THREAD });
}

async function refusal(call: Promise<unknown>): Promise<StoreError> {
  const error = await call.catch((thrown: unknown) => thrown);
  if (!(error instanceof StoreError)) throw new Error('the call was not refused');
  return error;
}

/** Runs statements as an operator does, beside the service. */
async function operate(text: string, at = url): Promise<readonly object[]> {
  await using session = await Session.open(at, {});
  return (await session.execute<object>({ sql: text, parameters: [] })).rows;
}

async function texts(store: Store, key: JobKey): Promise<unknown[]> {
  const page = await store.events({ key, after: 0, limit: 100 });
  return (page?.events ?? []).filter(({ kind }) => kind === 'stdout').map(({ data }) => data);
}

slowTest('a store whose sessions the server closed opens new sessions and continues', async () => {
  const name = `of_one_test_${process.pid}`;
  await operate(`create database ${name}`);
  const there = new URL(url);
  there.pathname = name;
  there.search = '';
  {
    await using store = await opened(there.href);
    const key = await runJob(store);
    const ended = await operate(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
    expect(ended.length).toBeGreaterThan(1);
    expect(await store.append(key, [stdout('after')])).toBe(true);
    expect(await texts(store, key)).toEqual([{ text: 'after' }]);
  }
  await operate(`drop database ${name} with (force)`);
});

test('no refusal shows the password', async () => {
  const wrong = new URL(url);
  wrong.password = 'hunter2';
  const error = await refusal(opened(wrong.href));
  expect(error.code).toBe('unopenable');
  const unreadable = await refusal(opened('postgres://svc:hunter2@[broken/db'));
  expect(`${error.message} ${String(error.stack)} ${unreadable.message} ${String(unreadable.stack)}`).not.toContain(
    'hunter2',
  );
});

test('a database with other tables or unknown migration steps is refused and left unchanged', async () => {
  const other = await newSchema(inject('postgresUrl'));
  await operate('create table recipes (name text)', other);
  expect((await refusal(opened(other))).code).toBe('unrecognised');
  await operate('alter table recipes rename to schema_history', other);
  await operate(`insert into schema_history values ('0099-later')`, other);
  expect((await refusal(opened(other))).code).toBe('unrecognised');
  expect(await operate('select * from schema_history', other)).toEqual([{ name: '0099-later' }]);
  await dropSchema(other);
});

test('the full check finds damage in a store on PostgreSQL', async () => {
  const own = await newSchema(inject('postgresUrl'));
  const store = await opened(own);
  const key = await runJob(store);
  await store.append(key, [stdout('before')]);
  await store[Symbol.asyncDispose]();
  await operate(`update events set data = '{"text":"other"}' where kind = 'stdout'`, own);
  expect((await refusal(opened(own))).message).toMatch(/is broken at 3/);
  await dropSchema(own);
});

test('if the answer to a commit is lost, the change is stored once and acknowledged', async () => {
  using proxy = await proxyTo(url);
  await using store = await opened(proxy.url);
  const key = await runJob(store);
  proxy.cut();
  expect(await store.append(key, [stdout('once')])).toBe(true);
  expect(await texts(store, key)).toEqual([{ text: 'once' }]);
});

slowTest(
  'while the server is down, every call is refused as unreachable, and afterwards everything stored is still there',
  async () => {
    await using server = await startPostgres();
    await using store = await opened(server.url);
    const key = await admitJob(store);
    await server.kill();
    expect((await refusal(store.probe())).code).toBe('unreachable');
    expect((await refusal(store.counts())).code).toBe('unreachable');
    await server.start();
    expect((await store.job(key))?.status).toBe('queued');
    expect(await store.finish(finishOf(key))).toBe(true);
  },
);
