/** Moving a store from its SQLite file to PostgreSQL copies everything, to the byte, or nothing. */
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { openStore } from '../open-store.ts';
import { Session } from '../postgres/connection.ts';
import { dropSchema, newSchema } from '../postgres/schema.fixture.ts';
import type { JobKey } from '../records/rows.ts';
import {
  admission,
  admitJob,
  at,
  attestationOf,
  finishOf,
  newKey,
  runJob,
  stdout,
  TestStore,
  useServer,
} from '../store.fixture.ts';
import { type CopyProgress, copyToPostgres } from './copy-to-postgres.ts';

/** PostgreSQL stores U+0000 and U+0001 in another form; the other characters sort differently in some collations. */
const STRANGE = 'a\u0000b\u0001c\u0001\u0001 é 😀 Z';

let source: TestStore;
let target: string;
let ended: JobKey;

beforeEach(async () => {
  useServer(null);
  source = await TestStore.open();
  target = await newSchema(inject('postgresUrl'));
  const { store } = source;
  ended = await runJob(store, { ...newKey(), idempotency: { key: 'once', spec_sha256: 'a'.repeat(64) } });
  await store.append(
    ended,
    Array.from({ length: 100 }, (_, index) => stdout(`line ${index} é 😀`)),
  );
  const content = crypto.getRandomValues(new Uint8Array(60_000));
  const artifact = { path: 'output/é.bin', size_bytes: content.length, sha256: 'b'.repeat(64), content };
  await store.finish(finishOf(ended, { artifacts: [artifact] }));
  await runJob(store, { ...newKey('other'), requested_spec: { ...admission().requested_spec, stdin: STRANGE } });
  for (let index = 0; index < 20; index++) await admitJob(store, newKey(`tenant ${index % 3}`));
  const upload = { tenant: 'acme', blob_id: 'upload', sha256: 'c'.repeat(64), size_bytes: content.length, at: at(0) };
  await store.beginUpload({ ...upload, blobsMax: 1, bytesMax: content.length });
  await store.addPiece({ tenant: 'acme', blob_id: 'upload', position: 0, content: content.slice() });
  await store.completeUpload(upload);
  const files = [{ path: 'input/a', blob: `sha256:${upload.sha256}` }];
  await admitJob(store, { ...newKey(), requested_spec: { ...admission().requested_spec, files } });
  const part = { head: '{}', content: JSON.stringify(STRANGE) };
  const grading = {
    tenant: 'acme',
    grading_id: 'grading_1',
    principal: 'p',
    created_at: at(0),
    common: '{}',
    held: [],
  };
  const bounds = { queueMax: 99, tenantQueueMax: 99, idempotency: { key: 'k', spec_sha256: 'd'.repeat(64) } };
  await store.admitGrading({ ...grading, ...bounds, programs: [part], tests: [part], blobs: [upload.sha256] });
  await admitJob(store, { ...newKey(), graded: { grading_id: 'grading_1', program: 0, name: 'test 0', attempt: 1 } });
  await store.endProgram({
    tenant: 'acme',
    grading_id: 'grading_1',
    program: 0,
    status: 'failed',
    ended: '{}',
    held: [],
    at: at(1),
  });
  const session = { name: STRANGE, after: null };
  await admitJob(store, {
    ...newKey(),
    principal: STRANGE,
    requested_spec: { ...admission().requested_spec, session },
  });
  const limits = { calls: 1, call_bytes: 99, total_bytes: 99 };
  const tools = { tools: [{ name: 't', result: {} }], answered_by: ['p'], limits };
  const calling = await runJob(store, { ...newKey(), requested_spec: { ...admission().requested_spec, tools } });
  await store.append(calling, [{ kind: 'tool_call', timestamp: at(20), data: { call: 1, tool: 't', arguments: {} } }]);
  await store.answerToolCall({ ...calling, seq: 3, outcome: { result: STRANGE }, principal: 'p', at: at(25) });
  const promised = await admitJob(store, { ...newKey(), promise: { due_at: at(1), answer_by: at(2) } });
  const promises = [{ ...promised, key_id: 'k', envelope: Uint8Array.of(1, 2) }];
  await store.storePromises({ promises });
  await store.drawPending({ now: at(3), due_at: at(4), answer_by: at(5), limit: 9 });
  const name = { host: 'log.example', tree: 1, log_key: 'log.example/log/1+00000000+AQ==' };
  await store.openLog({ ...name, opening: Uint8Array.of(1), body: Uint8Array.of(2) });
  await source.close();
  using database = new DatabaseSync(source.path);
  const receipt = database.prepare('select receipt_sha256 from receipts').get();
  const { leaf_hash: _leaf, ...attestation } = attestationOf(ended, String(receipt?.['receipt_sha256']));
  const columns = Object.keys(attestation);
  database
    .prepare(`insert into attestations (${columns.join()}) values (${columns.map((name) => `$${name}`).join()})`)
    .run({ ...attestation });
  database.prepare('update attestation_outbox set last_error = ?').run(STRANGE);
  database
    .prepare(`insert into credentials values ('c1', 'acme', ?, '[]', 'd', '2026-01-01T00:00:00.000Z', null, null)`)
    .run(STRANGE);
});

afterEach(async () => {
  await source[Symbol.asyncDispose]();
  await dropSchema(target);
  useServer(inject('postgresUrl'));
});

const copy = (onProgress?: (progress: CopyProgress) => void) =>
  copyToPostgres({ dataDir: source.directory, target, ...(onProgress && { onProgress }) });

async function onTarget<Row>(sql: string): Promise<readonly Row[]> {
  await using session = await Session.open(target, {});
  return (await session.execute<Row & object>({ sql, parameters: [] })).rows;
}

function onSource(sql: string): readonly Record<string, unknown>[] {
  using database = new DatabaseSync(source.path, { readOnly: true });
  return database.prepare(sql).all();
}

describe('a copy to PostgreSQL', () => {
  test('has every table with its rows, and reports its progress', async () => {
    const told: CopyProgress[] = [];
    const sums = await copy((progress) => told.push(progress));
    const tables = onSource(
      `select name from sqlite_schema where type = 'table' and name not like 'schema%' and name not like 'sqlite%'`,
    ).map(({ name }) => String(name));
    expect(sums.map(({ table }) => table).toSorted()).toEqual(tables.toSorted());
    for (const { table, rows } of sums) expect(onSource(`select 1 from ${table}`)).toHaveLength(rows);
    expect(sums.find(({ table }) => table === 'jobs')?.rows).toBe(27);
    expect(sums.filter(({ table, rows }) => /^grading|tool|session/.test(table) && rows === 0)).toEqual([]);
    for (const { table, rows } of sums)
      expect(told.findLast((progress) => progress.table === table)).toEqual({ table, rows, copied: rows });
  });

  test('has the same receipts, envelopes, files, events and unusual texts, to the byte', async () => {
    const queries = [
      'select receipt_json, receipt_sha256 from receipts order by job_id',
      'select envelope, result_artifact from attestations order by job_id',
      'select content, path from artifacts order by job_id',
      'select content, event_hashes from output_runs order by job_id',
      'select content from blob_pieces',
      'select b.sha256, b.used_at, n.job_id from blobs as b join job_blobs as n on n.blob_id = b.blob_id',
      'select data, event_hash from events order by job_id, seq',
      'select requested_spec, evidence, execution from job_specs order by job_id',
      'select principal from credentials',
      'select name, principal, next_job from sessions',
      'select envelope, due_at, answer_by from job_promises',
      'select answer_by, stated_at from log_pending',
      'select last_error from attestation_outbox order by job_id',
    ];
    const before = queries.map((sql) => onSource(sql).map(comparable));
    for (const rows of before) expect(rows.length).toBeGreaterThan(0);
    await copy();
    for (const [index, sql] of queries.entries())
      expect((await onTarget<Record<string, unknown>>(sql)).map(comparable)).toEqual(before[index]);
  });

  test('returns the same details of jobs, and the same job for a repeated idempotency key', async () => {
    await using before = await openStore({ dataDir: source.directory });
    const detail = await before.jobDetail(ended);
    const records = await before.terminalRecords({ keys: [ended], bytesMax: 1 });
    expect(records).toMatchObject([{ record: { salt: expect.any(String) as string, tenant_number: 1 } }]);
    await before[Symbol.asyncDispose]();
    await copy();
    await using after = await openStore({ dataDir: source.directory, databaseUrl: target });
    expect(String(await after.jobDetail(ended))).toBe(String(detail));
    // All parts of a statement are the same, so every signer signs the same bytes.
    expect(await after.terminalRecords({ keys: [ended], bytesMax: 1 })).toEqual(records);
    const again = await after.admit(
      admission({ ...newKey(), idempotency: { key: 'once', spec_sha256: 'a'.repeat(64) } }),
    );
    expect(again).toMatchObject({ kind: 'replayed' });
  });
});

/** The values of a row in the order of their columns. Bytes become text that an assertion can show. */
function comparable(row: Record<string, unknown>): unknown[] {
  const values = Object.entries(row).sort(([one], [other]) => (one < other ? -1 : 1));
  return values.map(([, value]) => (value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value));
}

describe('nothing is copied', () => {
  const rows = async () => await onTarget('select 1 from jobs');

  test('a store that has a job is not overwritten', async () => {
    await using store = await openStore({ dataDir: source.directory, databaseUrl: target });
    await admitJob(store);
    await store[Symbol.asyncDispose]();
    await expect(copy()).rejects.toThrow('the target is not empty');
    expect(await rows()).toHaveLength(1);
  });

  test('a source that a service is using is not copied', async () => {
    await using _store = await openStore({ dataDir: source.directory });
    await expect(copy()).rejects.toMatchObject({ code: 'locked' });
  });

  test.each([
    ['a directory without a store', { dataDir: '/nonexistent' }, 'there is no store'],
    ['a source that is on PostgreSQL', { databaseUrl: 'postgres://h/d' }, 'the source must be a SQLite store'],
    ['a target that is a file', { target: 'sqlite:/tmp/x' }, 'the target must be postgres://'],
  ])('a copy from or to %s is refused', async (_what, changed, message) => {
    await expect(copyToPostgres({ dataDir: source.directory, target, ...changed })).rejects.toThrow(message);
  });

  test('a copy stores nothing if the database fails in the middle', async () => {
    await refuseIn('artifacts', `raise exception 'no'`);
    await expect(copy()).rejects.toThrow('the store failed');
    expect(await rows()).toEqual([]);
  });

  test('a copy stores nothing if a byte is changed on the way', async () => {
    await refuseIn('receipts', `new.receipt_json = replace(new.receipt_json, 'succeeded', 'succeedeD'); return new`);
    await expect(copy()).rejects.toThrow('the copy of the table receipts differs');
    expect(await rows()).toEqual([]);
  });

  /** Makes the tables of the target, and runs the SQL `what` before each row is inserted into `table`. */
  async function refuseIn(table: string, what: string): Promise<void> {
    await using made = await openStore({ dataDir: source.directory, databaseUrl: target });
    await made[Symbol.asyncDispose]();
    await onTarget(`create function meddle() returns trigger language plpgsql as $$ begin ${what}; end $$`);
    await onTarget(`create trigger meddle before insert on ${table} for each row execute function meddle()`);
  }
});
