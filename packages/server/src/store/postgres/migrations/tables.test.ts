import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openForWriting } from '../../sqlite/connection.ts';
import { migrate } from '../../sqlite/migrations/migrate.ts';
import { Session } from '../connection.ts';
import { dropSchema, newSchema } from '../schema.fixture.ts';
import { WritingSession } from '../writing-session.ts';

let url: string;
beforeAll(async () => {
  url = await newSchema(inject('postgresUrl'));
  await using _writing = await WritingSession.open(url, {});
});
afterAll(() => dropSchema(url));

async function asked<Row>(sql: string): Promise<readonly Row[]> {
  await using session = await Session.open(url, {});
  return (await session.execute<Row & object>({ sql, parameters: [] })).rows;
}

interface Column {
  readonly name: string;
  readonly isRequired: boolean;
}

async function columnsOnPostgres(): Promise<readonly Column[]> {
  const rows = await asked<{ name: string; nullable: string }>(
    `select table_name || '.' || column_name as name, is_nullable::text as nullable from information_schema.columns
     where table_schema = current_schema() and table_name not in ('schema_history', 'schema_state', 'backfills', 'holders', 'nodes', 'gone_nodes', 'node_changes', 'claims', 'signing_keys')`,
  );
  return rows.map(({ name, nullable }) => ({ name, isRequired: nullable === 'NO' }));
}

async function columnsOnSqlite(): Promise<readonly Column[]> {
  using connection = openForWriting(':memory:');
  await migrate(connection);
  return connection.database
    .prepare(
      `select t.name || '.' || c.name as name, c."notnull" as required from pragma_table_list as t, pragma_table_info(t.name) as c
       where t.schema = 'main' and t.name not like 'sqlite_%' and t.name not like 'schema_history%'`,
    )
    .all()
    .map((row) => ({ name: String(row['name']), isRequired: row['required'] === 1 }));
}

const byName = (one: Column, other: Column) => (one.name < other.name ? -1 : 1);

test('both stores have the same columns with the same constraints', async () => {
  const onSqlite = (await columnsOnSqlite()).toSorted(byName);
  expect(onSqlite.length).toBeGreaterThan(80);
  expect((await columnsOnPostgres()).toSorted(byName)).toEqual(onSqlite);
});

test("in every table with tenants' data except credentials, the tenant is the first column of the key", async () => {
  const rows = await asked<{ table: string; first: string }>(
    `select c.conrelid::regclass::text as table, a.attname::text as first from pg_constraint as c
     join pg_attribute as a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
     where c.connamespace = current_schema()::regnamespace and c.contype in ('p', 'f')`,
  );
  const others = rows.filter(({ first }) => first !== 'tenant').map(({ table }) => table);
  expect(others.toSorted()).toEqual([
    'backfills',
    'credentials',
    'gone_nodes',
    'holders',
    'log_hashes',
    'log_state',
    'node_changes',
    'node_changes',
    'nodes',
    'probes',
    'schema_history',
    'schema_state',
    'signing_keys',
  ]);
  expect(rows.length).toBeGreaterThan(20);
});

test('every text column is compared byte by byte', async () => {
  const rows = await asked<{ collation: string | null }>(
    `select distinct collation_name::text as collation from information_schema.columns
     where table_schema = current_schema() and data_type = 'text'`,
  );
  expect(rows).toEqual([{ collation: 'C' }]);
});
