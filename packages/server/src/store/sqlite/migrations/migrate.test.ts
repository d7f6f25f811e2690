/** Every store left by an older version becomes a store of this version, and claims nothing that was not recorded. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { verifyChain, verifyReceipt } from '@vouchbox/evidence';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listed } from '../../kept/listed.fixture.ts';
import type { JobKey } from '../../records/rows.ts';
import { admitJob, choice, finishOf, startOf, stdout, TestStore } from '../../store.fixture.ts';
import type { Store } from '../../store.ts';
import { openForWriting } from '../connection.ts';
import { migrate } from './migrate.ts';

const FIXTURES = join(import.meta.dirname, 'fixtures');
const VERSIONS = ['v0.1', 'v0.3'] as const;
type Version = (typeof VERSIONS)[number] | 'v4';
const SCHEMAS = { 'v0.1': '0001-jobs', 'v0.3': '0003-receipts' } as const;

/** Puts a stored database where a service would find it: the file itself, or a file made from its dump. */
function place(testStore: TestStore, version: Version, form: 'db' | 'sql' = 'db'): void {
  const stored = (ending: string) => join(FIXTURES, `${version}.${ending}`);
  if (form === 'db' && version !== 'v4') copyFileSync(stored('db'), testStore.path);
  else fill(testStore.path, readFileSync(stored('sql'), 'utf8'));
}

function fill(path: string, sql: string): void {
  using database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  database.exec(sql);
}

async function upgraded(version: Version, form: 'db' | 'sql' = 'db'): Promise<TestStore> {
  const testStore = new TestStore();
  place(testStore, version, form);
  await testStore.reopen();
  return testStore;
}

const acme = (job_id: string): JobKey => ({ tenant: 'acme', job_id });
const umbrella = (job_id: string): JobKey => ({ tenant: 'umbrella', job_id });

/** Everything in a database's schema, however its tables were spelled. */
function schemaOf(database: DatabaseSync): unknown {
  const asked = (sql: string, ...of: string[]) => database.prepare(sql).all(...of);
  const tables = asked(`select name, wr, strict from pragma_table_list
    where schema = 'main' and type = 'table' and name not like 'sqlite\\_%' escape '\\' order by name`);
  const indexes = asked(
    'select name, sql from sqlite_schema where type = ? and sql is not null order by name',
    'index',
  );
  return {
    tables: tables.map(({ name, ...kind }) => ({
      name,
      ...kind,
      columns: asked(
        'select name, type, "notnull", dflt_value, pk from pragma_table_xinfo(?) order by name',
        String(name),
      ),
      keys: asked(
        'select "table", "from", "to", on_delete from pragma_foreign_key_list(?) order by 1, 2, 3',
        String(name),
      ),
      unique: asked('select origin, "unique" from pragma_index_list(?) order by 1, 2', String(name)),
    })),
    indexes: indexes.map(({ name, sql }) => [name, String(sql).replaceAll('"', '')]),
  };
}

function contentsOf(path: string): (readonly [string, readonly object[]])[] {
  using database = new DatabaseSync(path, { readOnly: true });
  const tables = database.prepare("select name from sqlite_master where type = 'table'").all();
  return tables.map(({ name }) => [String(name), database.prepare(`select * from "${String(name)}"`).all()]);
}

describe('a database that an older version stored', () => {
  test.each(VERSIONS)('a database of %s has the schema that its steps make', async (version) => {
    using connection = openForWriting(':memory:');
    await migrate(connection, { until: SCHEMAS[version] });
    using stored = openForWriting(':memory:');
    stored.database.exec(readFileSync(join(FIXTURES, `${version}.sql`), 'utf8'));
    stored.database.exec('drop table schema_history_lock');
    expect(schemaOf(stored.database)).toEqual(schemaOf(connection.database));
  });

  test.each([...VERSIONS, 'v4'] as const)(
    'a database of %s is upgraded to the schema of a new one, without dangling references',
    async (version) => {
      using fresh = openForWriting(':memory:');
      await migrate(fresh);
      await using testStore = await upgraded(version);
      await testStore.close();
      using database = new DatabaseSync(testStore.path);
      expect(schemaOf(database)).toEqual(schemaOf(fresh.database));
      expect(database.prepare('select name from schema_history order by name').all()).toEqual(
        fresh.database.prepare('select name from schema_history order by name').all(),
      );
      expect(database.prepare('pragma foreign_key_check').all()).toEqual([]);
      expect(database.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
    },
  );

  test.each(VERSIONS)('the database of %s and its dump have the same content', async (version) => {
    await using testStore = new TestStore();
    place(testStore, version, 'sql');
    expect(contentsOf(testStore.path)).toEqual(contentsOf(join(FIXTURES, `${version}.db`)));
  });
});

describe.each(VERSIONS)('the jobs of v0.1 in a database of %s', (version) => {
  let testStore: TestStore;
  let store: Store;
  beforeAll(async () => {
    testStore = await upgraded(version, 'sql');
    store = testStore.store;
  });
  afterAll(() => testStore[Symbol.asyncDispose]());

  test('keep their events, with hash version 0 and no digests (Spec § Events 7)', {
    tags: ['Events-7c'],
  }, async () => {
    const page = await store.events({ key: acme('job_09'), after: 0, limit: 10 });
    expect(page?.events.map((event) => event.kind)).toEqual(['queued', 'started', 'stdout', 'stderr', 'finished']);
    for (const event of page?.events ?? []) {
      expect(event).toMatchObject({ hash_version: 0, prev_hash: null, event_hash: null });
    }
    expect(page?.complete).toBe(true);
    expect(verifyChain(page?.events ?? [])).toMatchObject({ kind: 'intact', count: 0, unverifiable: 5 });
  });

  test('show what was recorded of their submission, and nothing about their execution (Spec § Job detail)', {
    tags: ['Detail-15'],
  }, async () => {
    const job = await store.job(acme('job_09'));
    expect(job).toMatchObject({
      status: 'succeeded',
      exit_code: 0,
      duration_ms: null,
      terminal_reason: null,
      execution: null,
    });
    expect(await store.attestation({ key: acme('job_09'), part: 'envelope' })).toBeNull();
    expect(job?.requested_spec).toEqual({
      language: 'python',
      code: "print('first')",
      stdin: 'ignored',
      limits: { wall_seconds: 5 },
    });
  });

  test('an ended job gets a receipt with only the outcome and an incomplete chain', async () => {
    for (const [key, status, finished_at] of [
      [acme('job_09'), 'succeeded', '2025-03-01T12:00:04.000Z'],
      [umbrella('job_02'), 'failed', '2025-03-01T12:00:07.000Z'],
      [acme('job_01'), 'cancelled', '2025-03-01T12:00:09.000Z'],
    ] as const) {
      const receipt = JSON.parse((await store.job(key))?.receipt_json ?? 'null') as Record<string, unknown>;
      expect(verifyReceipt(receipt).kind).toBe('intact');
      expect(receipt).toMatchObject({ ...key, status, finished_at, terminal_reason: null, schema_version: 4 });
      expect(receipt['event_chain']).toMatchObject({ count: 0, head: '0'.repeat(64), complete: false });
      for (const unknown of ['output', 'effective_limits', 'isolation_class', 'code_sha256', 'truncated']) {
        expect(receipt).not.toHaveProperty(unknown);
      }
    }
    expect(await store.job(acme('job_01'))).toMatchObject({ truncated: true, cancellation_requested: true });
  });

  test('queued jobs still wait, and recovery finds the jobs that were running', async () => {
    const { jobs: queued } = await store.queuedJobs(choice({ exclude: [], limit: 10 }));
    expect(queued).toContainEqual({
      ...acme('job_zz'),
      language: 'bash',
      runtime: null,
      mem_mb: 256,
      is_test: 0,
      created_at: '2025-03-01T12:00:10.000Z',
      requested_spec: expect.stringContaining('"language":"bash"') as string,
    });
    expect((await store.runningJobs()).map((job) => job.job_id)).toContain('job_04');
    expect(await store.job(acme('job_04'))).toMatchObject({ status: 'running', receipt_json: null });
  });

  test('are counted as queued or running, for limits and turns', async () => {
    const counts = version === 'v0.1' ? { queued: 1, running: 1 } : { queued: 2, running: 2 };
    expect(await store.currentJobs('acme')).toMatchObject(counts);
    expect(await store.counts()).toMatchObject(counts);
  });

  test('are visible only to their own tenants', async () => {
    expect(await store.job(umbrella('job_09'))).toBeNull();
    expect(await store.events({ key: acme('job_02'), after: 0, limit: 10 })).toBeNull();
  });
});

describe('the jobs of v0.3', () => {
  let testStore: TestStore;
  let store: Store;
  beforeAll(async () => {
    testStore = await upgraded('v0.3');
    store = testStore.store;
  });
  afterAll(() => testStore[Symbol.asyncDispose]());

  test('keep their receipts byte for byte, with or without the tenant (Spec § Result artifact)', async () => {
    using stored = new DatabaseSync(join(FIXTURES, 'v0.3.db'), { readOnly: true });
    const receipts = stored.prepare('select tenant, r.* from receipts as r join jobs using (job_id)').all();
    expect(receipts).toHaveLength(6);
    for (const { tenant, job_id, receipt_json, receipt_sha256 } of receipts) {
      const job = await store.job({ tenant: String(tenant), job_id: String(job_id) });
      expect(job).toMatchObject({ receipt_json, receipt_sha256, execution: null });
    }
    expect(JSON.parse((await store.job(acme('job_f0c1')))?.receipt_json ?? '')).not.toHaveProperty('tenant');
    expect(JSON.parse((await store.job(acme('job_a1b2')))?.receipt_json ?? '')).toMatchObject({ tenant: 'acme' });
  });

  test('keep their chains, which still verify', async () => {
    for (const key of [acme('job_f0c1'), umbrella('job_b2c3')]) {
      const events = (await store.events({ key, after: 0, limit: 10 }))?.events ?? [];
      expect(verifyChain(events, { job_id: key.job_id, count: 4 })).toMatchObject({ kind: 'intact', unverifiable: 0 });
    }
  });

  test('keep their artifacts and idempotency keys', async () => {
    const [artifact] = await store.artifacts(acme('job_f0c1'));
    expect(Buffer.from(artifact?.content ?? []).toString()).toBe('kept\n');
    expect(await store.findByIdempotencyKey({ tenant: 'acme', key: 'once' })).toMatchObject({
      job: { job_id: 'job_07aa' },
    });
    expect(await store.findByIdempotencyKey({ tenant: 'umbrella', key: 'once' })).toBeNull();
  });

  test('keep a complete attestation; any other is withdrawn and made again (Spec § Versioning 6)', {
    tags: ['Versioning-6'],
  }, async () => {
    expect(await store.attestation({ key: acme('job_a1b2'), part: 'result_artifact' })).toMatchObject({
      isIntact: true,
    });
    const owed = (await store.outbox({ now: '2025-01-01T00:00:00.000Z', limit: 100 })).map((entry) => entry.job_id);
    const withdrawn = [umbrella('job_b2c3'), acme('job_c3d4'), acme('job_d4e5'), acme('job_e5f6')];
    for (const key of withdrawn) expect(await store.attestation({ key, part: 'envelope' })).toBeNull();
    // The jobs come in the order in which they ended; those of v0.1 are among them.
    expect(owed).toEqual(['job_09', 'job_02', 'job_01', 'job_f0c1', ...withdrawn.map((key) => key.job_id)]);
  });

  test('are listed by the time of their submission, whatever the form of their ids', async () => {
    const jobs = await listed(store, { tenant: 'acme', limit: 3 });
    expect(jobs.map((job) => job.job_id)).toEqual(['job_00bb', 'job_07aa', 'job_e5f6']);
  });

  test('that are still queued run in the order in which they were submitted', async () => {
    const { jobs: queued } = await store.queuedJobs(choice({ exclude: [], limit: 10 }));
    expect(queued.map((job) => job.job_id)).toEqual(['job_zz', 'job_07aa']);
    expect((await store.job(acme('job_07aa')))?.requested_spec).toEqual({
      language: 'python',
      code: expect.stringContaining('shutil'),
      stdin: 'hé',
      files: [{ path: 'input/a', content_base64: 'YQ==' }],
      outputs: ['output/b'],
      runtime: null,
      requirements: { minimum_isolation: 'none' },
      limits: { cpu_seconds: 2 },
    });
  });
});

describe('a store of commit 542037d9', () => {
  const rowsOf = ({ path }: TestStore) =>
    new Map(contentsOf(path).filter(([table]) => !['schema_history', 'probes'].includes(table)));

  test('is taken over without changing any row', async () => {
    await using before = new TestStore();
    place(before, 'v4');
    await using testStore = await upgraded('v4');
    await testStore.close();
    expect(rowsOf(before).get('jobs')).toHaveLength(7);
    expect(rowsOf(testStore)).toEqual(rowsOf(before));
  });

  test('still has its receipts, output and chains, and a job that was running continues', async () => {
    await using testStore = await upgraded('v4');
    const { store } = testStore;
    const [ended, running, talkative] = ['1', '2', '4'].map((last) =>
      acme(`job_01955f8e-0000-7000-8000-00000000000${last}`),
    );
    const receipt = JSON.parse((await store.job(ended as JobKey))?.receipt_json ?? 'null') as Record<string, unknown>;
    expect(verifyReceipt(receipt).kind).toBe('intact');
    const extent = await store.textExtent({ key: talkative as JobKey, kind: 'stdout', after: 0, limit: 100 });
    expect(extent?.text).toBe(Array.from({ length: 40 }, (_, line) => `line ${line} é\\n`).join(''));
    await store.append(running as JobKey, [stdout('after')]);
    for (const [key, count] of [
      [talkative, 43],
      [running, 3],
    ] as const) {
      const events = (await store.events({ key: key as JobKey, after: 0, limit: 100 }))?.events ?? [];
      expect(verifyChain(events, { job_id: (key as JobKey).job_id, count })).toMatchObject({ kind: 'intact' });
    }
  });

  test('is refused if it has only some of that commit’s steps, and the message says what to do', async () => {
    await using testStore = new TestStore();
    place(testStore, 'v4');
    fill(testStore.path, "delete from schema_history where name = '0004-written-with-lists'");
    const before = contentsOf(testStore.path);
    await expect(testStore.reopen()).rejects.toMatchObject({
      code: 'unrecognised',
      message: expect.stringMatching(
        /the database has schema 0004-written-with-links, which was never released: start commit 542037d9 on it once, and then this version$/,
      ) as string,
    });
    expect(contentsOf(testStore.path)).toEqual(before);
  });
});

test('after an upgrade from v0.3, old jobs have no salt and no number, and new jobs are numbered from 1', async () => {
  await using testStore = await upgraded('v0.3');
  const { store } = testStore;
  const [ended, waiting] = ['job_f0c1', 'job_zz'].map(acme);
  const fresh = await admitJob(store, acme('job_fresh'));
  for (const key of [waiting as JobKey, fresh]) {
    await store.start(startOf(key));
    await store.finish(finishOf(key));
  }
  const keys = [ended as JobKey, waiting as JobKey, fresh];
  const records = await store.terminalRecords({ keys, bytesMax: 1_000_000 });
  const salted = expect.stringMatching(/^[0-9a-f]{32}$/) as string;
  expect(records).toMatchObject([
    { record: { salt: null, tenant_number: null } },
    { record: { salt: salted, tenant_number: null } },
    { record: { salt: salted, tenant_number: 1 } },
  ]);
});

test('an upgrade keeps a copy of the old file, unchanged and readable only by its owner', async () => {
  await using testStore = await upgraded('v0.3');
  const copy = `${testStore.path}.before-0004-store`;
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  expect(contentsOf(copy)).toEqual(contentsOf(join(FIXTURES, 'v0.3.db')));
});

test('a store that needs no upgrade is not copied', async () => {
  await using testStore = await TestStore.open();
  await testStore.reopen();
  expect(readdirSync(testStore.directory).filter((name) => name.includes('before'))).toEqual([]);
});

/** Opens the store, and dies by SIGKILL at the n-th statement on the connection. */
const DYING = `
  import { DatabaseSync } from 'node:sqlite';
  const [, path, deathAt] = process.argv;
  let statements = 0;
  for (const name of ['prepare', 'exec']) {
    const original = DatabaseSync.prototype[name];
    DatabaseSync.prototype[name] = function (text) {
      if (++statements === Number(deathAt)) process.kill(process.pid, 'SIGKILL');
      return original.call(this, text);
    };
  }
  const { openForWriting } = await import('${new URL('../connection.ts', import.meta.url).href}');
  const { migrate } = await import('${new URL('./migrate.ts', import.meta.url).href}');
  const connection = openForWriting(path);
  await migrate(connection);
  connection[Symbol.dispose]();
  console.log(statements);`;

function dieAt(path: string, statement: number): { readonly signal: string | null; readonly statements: number } {
  const words = ['--input-type=module', '--eval', DYING, path, String(statement)];
  const { signal, stdout } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  return { signal, statements: Number(stdout) };
}

test('an upgrade that is killed at any step continues at the next start, with the same result', {
  timeout: 240_000,
  tags: ['RST-04'],
}, async () => {
  await using whole = await upgraded('v0.1');
  await whole.close();
  const expected = contentsOf(whole.path);
  await using counted = new TestStore();
  place(counted, 'v0.1');
  const { statements } = dieAt(counted.path, 0);
  expect(statements).toBeGreaterThan(50);
  await using testStore = new TestStore();
  for (let step = 3; step < statements; step += 17) {
    place(testStore, 'v0.1');
    for (const suffix of ['-wal', '-shm']) rmSync(testStore.path + suffix, { force: true });
    expect(dieAt(testStore.path, step).signal).toBe('SIGKILL');
    await testStore.reopen();
    await testStore.close();
    expect(withoutClock(contentsOf(testStore.path))).toEqual(withoutClock(expected));
    rmSync(`${testStore.path}-lock`, { force: true });
  }
});

/**
 * The rows, without what each start writes anew: when a migration was applied, and how often the store was opened.
 */
function withoutClock(contents: readonly (readonly [string, readonly object[]])[]): unknown {
  return contents.map(([table, rows]) => [table, ['schema_history', 'probes'].includes(table) ? rows.length : rows]);
}
