import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { dropSchema, newSchema } from '../schema.fixture.ts';
import { Session } from '../session.ts';
import { createTables } from './0004-tables.ts';
import { migrate } from './migrate.ts';

let url: string;
beforeAll(async () => {
  url = await newSchema(inject('postgresUrl'));
});
afterAll(() => dropSchema(url));

/** A store as it was before the migration: two jobs, of which one was observed. */
const olderStore = `${createTables};
create table schema_history (name text primary key, timestamp text not null);
insert into schema_history values ('0004-tables', '2026-01-01T00:00:00.000Z');
insert into jobs (tenant, job_id, status, language, created_at, cancellation_requested, truncated, chain_seq, chain_head)
values ('acme', 'one', 'running', 'bash', '2026', 0, 0, 2, 'a'), ('acme', 'two', 'queued', 'bash', '2026', 0, 0, 1, 'b');
insert into job_specs values ('acme', 'one', '{"code":"1"}', 'e'), ('acme', 'two', '{"code":"2"}', null);
insert into job_executions values ('acme', 'one', '{"backend":"namespace"}')`;

test('an upgrade moves what was observed of a job into the row of its submission', async () => {
  await using session = await Session.open(url, {});
  for (const statement of olderStore.split(';\n')) {
    if (statement.trim() !== '') await session.execute({ sql: statement, parameters: [] });
  }
  await migrate(session);
  const { rows } = await session.execute({
    sql: 'select job_id, execution, evidence, requested_spec from job_specs order by job_id',
    parameters: [],
  });
  expect(rows).toEqual([
    { job_id: 'one', execution: '{"backend":"namespace"}', evidence: 'e', requested_spec: '{"code":"1"}' },
    { job_id: 'two', execution: null, evidence: null, requested_spec: '{"code":"2"}' },
  ]);
});
