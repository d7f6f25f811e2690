/**
 * However a write is interrupted, the store holds only whole transactions: receipt, outbox row, last event and status agree.
 */
import { copyFileSync, existsSync, rmSync, statSync, truncateSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { finish } from '../evidence/outcomes.ts';
import { append } from '../history/events.ts';
import { admit } from '../jobs/admission.ts';
import { start } from '../jobs/jobs.ts';
import { admission, finishOf, newKey, startOf, stdout, TestStore } from '../store.fixture.ts';
import type { Call } from '../threads/messages.ts';
import { type Connection, openForWriting, prepareFile } from './connection.ts';
import { migrate } from './migrations/migrate.ts';
import { GroupCommit } from './threads/group-commit.ts';

/** States that must not occur between two transactions, each with a query for the rows that show it. */
const CONTRADICTIONS = {
  'a terminal job without its receipt, or a receipt of another job': `
    select job_id from jobs where (finished_at is not null) != exists
      (select * from receipts where receipts.tenant = jobs.tenant and receipts.job_id = jobs.job_id)`,
  'a terminal job outside the outbox, or another one in it': `
    select job_id from jobs where (finished_at is not null) != exists
      (select * from attestation_outbox as o where o.tenant = jobs.tenant and o.job_id = jobs.job_id)`,
  'a queued job outside the queue, or another one in it': `
    select job_id from jobs where (status = 'queued') != exists
      (select * from queue where queue.tenant = jobs.tenant and queue.job_id = jobs.job_id)`,
  'a chain that does not end where its job says': `
    select job_id from jobs where chain_head is not
      (select event_hash from events where events.tenant = jobs.tenant and events.job_id = jobs.job_id
       and events.seq = jobs.chain_seq)`,
  'a chain with a gap or a second end': `
    select job_id from jobs where chain_seq != (select count(*) from events
      where events.tenant = jobs.tenant and events.job_id = jobs.job_id)`,
  'a terminal job whose last event is not `finished`, or an unfinished one with such an event': `
    select job_id from jobs where (finished_at is not null) != exists (select * from events
      where events.tenant = jobs.tenant and events.job_id = jobs.job_id and kind = 'finished' and seq = chain_seq)`,
  'a tenant that counts other jobs than it has': `
    select tenant from tenants where
      queued != (select count(*) from jobs where jobs.tenant = tenants.tenant and status = 'queued') or
      running != (select count(*) from jobs where jobs.tenant = tenants.tenant and status = 'running')`,
};

function expectConsistent(database: DatabaseSync): void {
  for (const [contradiction, query] of Object.entries(CONTRADICTIONS)) {
    expect({ [contradiction]: database.prepare(query).all() }).toEqual({ [contradiction]: [] });
  }
  expect(database.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
}

/** Every step of one job's life, as commands. */
function lifeOf(key = newKey()): [string, (connection: Connection) => Promise<unknown>][] {
  const events = Array.from({ length: 30 }, (_, line) => stdout(`line ${line} ${'x'.repeat(200)}`));
  const content = new Uint8Array(20_000);
  const artifacts = [{ path: 'output/a', size_bytes: content.length, sha256: 'a'.repeat(64), content }];
  return [
    ['admit', ({ db }) => admit(db, admission({ ...key, idempotency: { key: key.job_id, spec_sha256: 'b' } }))],
    ['start', ({ db }) => start(db, startOf(key))],
    ['append', ({ db }) => append(db, { key, events })],
    ['finish', ({ db }) => finish(db, finishOf(key, { artifacts }))],
  ];
}

async function emptyStore(path: string): Promise<Connection> {
  prepareFile(path);
  const connection = openForWriting(path);
  await migrate(connection);
  return connection;
}

test('a transaction is stored whole or not at all, whichever page the space runs out at (STORE-01)', {
  tags: ['STORE-01'],
}, async () => {
  await using files = new TestStore();
  using connection = await emptyStore(files.path);
  const { database } = connection;
  const outcomes = new Set<string>();
  for (let round = 0; round < 12; round++) {
    const steps = new Map(lifeOf());
    const commit = new GroupCommit(database, async ({ name }) => steps.get(name)?.(connection));
    for (const name of steps.keys()) {
      const waiting: Call[] = [{ id: 0, name, input: null }];
      const pages = Number(database.prepare('pragma page_count').get()?.['page_count']);
      database.exec(`pragma max_page_count = ${pages + round}`);
      const [answer] = await commit.take(waiting);
      database.exec('pragma max_page_count = 100000');
      outcomes.add(answer !== undefined && 'error' in answer ? answer.error.code : 'stored');
      expectConsistent(database);
    }
  }
  expect(outcomes).toEqual(new Set(['stored', 'full']));
});

test('a write-ahead log that is cut at any byte contains the whole transactions before the cut (STORE-03)', {
  tags: ['STORE-03'],
}, async () => {
  await using files = new TestStore();
  using connection = await emptyStore(files.path);
  const commit = new GroupCommit(connection.database, ({ input }) => (input as () => Promise<unknown>)());
  connection.database.exec('pragma wal_checkpoint(truncate)');
  for (let life = 0; life < 6; life++) {
    for (const [name, step] of lifeOf()) await commit.take([{ id: 0, name, input: () => step(connection) }]);
  }
  const bytes = statSync(`${files.path}-wal`).size;
  const counts: number[] = [];
  for (let cut = 0; cut <= bytes; cut += Math.ceil(bytes / 40 / 512) * 512) counts.push(eventsAfterCut(files, cut));
  expect(counts).toEqual(counts.toSorted((a, b) => a - b));
  expect(new Set(counts).size).toBeGreaterThan(3);
});

/** How many events a copy of the store has if the copy's log ends at `cut`. */
function eventsAfterCut({ path }: TestStore, cut: number): number {
  const copy = `${path}-copy`;
  for (const end of ['', '-wal', '-shm']) if (existsSync(copy + end)) rmSync(copy + end);
  copyFileSync(path, copy);
  copyFileSync(`${path}-wal`, `${copy}-wal`);
  truncateSync(`${copy}-wal`, cut);
  using opened = openForWriting(copy);
  expectConsistent(opened.database);
  return Number(opened.database.prepare('select count(*) as events from events').get()?.['events']);
}
