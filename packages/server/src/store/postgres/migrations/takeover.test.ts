/** A store left by commit 542037d9 becomes a store of this version, beside nodes of that commit. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { verifyChain, verifyReceipt } from '@vouchbox/evidence';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { finishOf, runJob } from '../../store.fixture.ts';
import type { Store } from '../../store.ts';
import { POSTGRES_SAME_THREAD } from '../../threads.fixture.ts';
import { Session } from '../connection.ts';
import { openPostgresStore } from '../open.ts';
import { dropSchema, newSchema } from '../schema.fixture.ts';
import { firstVersion } from './0004-schema.ts';
import { beginRegistration } from './schema-state.ts';
import { STEPS } from './steps.ts';

const STORED = readFileSync(join(import.meta.dirname, 'fixtures/v4.sql'), 'utf8');

let url: string;
beforeEach(async () => {
  url = await newSchema(inject('postgresUrl'));
});
afterEach(() => dropSchema(url));

async function asked<Row>(sql: string, on = url): Promise<readonly Row[]> {
  await using session = await Session.open(on, {});
  return (await session.execute<Row & object>({ sql, parameters: [] })).rows;
}

async function place(): Promise<void> {
  await using session = await Session.open(url, {});
  for (const sql of STORED.split(';\n')) {
    if (sql.trim() !== '') await session.execute({ sql, parameters: [] });
  }
}

function opened(on = url): Promise<Store> {
  return openPostgresStore({
    url: on,
    check: 'full',
    onProblem: () => {},
    instance: 'this',
    threads: POSTGRES_SAME_THREAD,
  });
}

/** Everything in the schema except the order of columns and the defaults. */
async function schemaOf(on: string): Promise<unknown> {
  const columns = await asked(
    `select relname::text as of, attname::text as name, format_type(atttypid, atttypmod) as type, attnotnull as required,
       attstorage::text as storage, attidentity::text as identity, collname::text as collation
     from pg_attribute join pg_class on pg_class.oid = attrelid left join pg_collation on pg_collation.oid = attcollation
     where relnamespace = current_schema()::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped order by 1, 2`,
    on,
  );
  const constraints = await asked(
    `select conrelid::regclass::text as of, pg_get_constraintdef(oid) as says from pg_constraint
     where connamespace = current_schema()::regnamespace order by 1, 2`,
    on,
  );
  const indexes = await asked(
    `select indexname::text as name, regexp_replace(indexdef, ' ON [^.]*\\.', ' ON ') as says from pg_indexes
     where schemaname = current_schema() order by 1, 2`,
    on,
  );
  return { columns, constraints, indexes };
}

const ofLast = (number: number) => ({ tenant: 'acme', job_id: `job_01955f8e-0000-7000-8000-00000000000${number}` });
test('a store that is taken over from commit 542037d9 has the tables and steps of a new store', async () => {
  await place();
  await using _store = await opened();
  const fresh = await newSchema(inject('postgresUrl'));
  await (await opened(fresh))[Symbol.asyncDispose]();
  expect(await schemaOf(url)).toEqual(await schemaOf(fresh));
  await dropSchema(fresh);
  expect(await asked('select name from schema_history')).toEqual(STEPS.map(({ name }) => ({ name })));
  expect(await asked('select version, oldest_code from schema_state')).toEqual([
    { version: firstVersion + STEPS.length - 1, oldest_code: firstVersion },
  ]);
});

test('a store that is taken over still has its jobs unchanged, and new jobs run beside them', async () => {
  await place();
  await using store = await opened();
  const { receipt_json = null } = (await store.job(ofLast(1))) ?? {};
  expect(STORED).toContain(receipt_json);
  expect(verifyReceipt(JSON.parse(receipt_json ?? 'null')).kind).toBe('intact');
  const { events = [] } = (await store.events({ key: ofLast(4), after: 0, limit: 100 })) ?? {};
  expect(verifyChain(events, { job_id: ofLast(4).job_id, count: 43 })).toMatchObject({ kind: 'intact' });
  expect(await store.counts()).toMatchObject({ queued: 2, running: 1 });
  expect(await store.finish(finishOf(await runJob(store)))).toBe(true);
});

test('a node of commit 542037d9 continues beside this version, and is refused when it starts again', async () => {
  await place();
  const ofThatCommit = firstVersion - 1;
  await asked(`insert into nodes (instance, started_at, lease_until, schema_needs, schema_knows)
    values ('older', now(), now() + interval '1 hour', ${ofThatCommit}, ${ofThatCommit})`);
  await using _store = await opened();
  expect(await asked(`select schema_knows from nodes where instance = 'older'`)).toEqual([
    { schema_knows: ofThatCommit },
  ]);
  await using session = await Session.open(url, {});
  const starting = beginRegistration(session, { needs: ofThatCommit, knows: ofThatCommit });
  await expect(starting).rejects.toMatchObject({ code: 'newer_schema' });
});

test('a store with only some steps of commit 542037d9 is refused, and the message says what to do', async () => {
  await place();
  await asked(`delete from schema_history where name = '0004-written-with-lists'`);
  await expect(opened()).rejects.toMatchObject({
    code: 'unrecognised',
    message: expect.stringMatching(
      /the database has schema 0004-written-with-links, which was never released: start commit 542037d9 on it once, and then this version$/,
    ) as string,
  });
  expect(await asked('select name from schema_history')).toHaveLength(14);
});
