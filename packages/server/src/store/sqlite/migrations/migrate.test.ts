/** Every store that an older version left becomes one of this version, and claims nothing that was not recorded. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { verifyChain, verifyReceipt } from '@vouchbox/evidence';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listed } from '../../kept/listed.fixture.ts';
import type { JobKey } from '../../records/rows.ts';
import { choice, stdout, TestStore } from '../../store.fixture.ts';
import type { Store } from '../../store.ts';
import { openForWriting } from '../connection.ts';
import { migrate } from './migrate.ts';

const FIXTURES = join(import.meta.dirname, 'fixtures');
const VERSIONS = ['v0.1', 'v0.3', 'v4', 'v4-rows', 'v4-runs', 'v4-execution', 'v4-uploads', 'v4-used-objects'] as const;
type Version = (typeof VERSIONS)[number];
const SCHEMAS: Readonly<Record<Version, string>> = {
  'v0.1': '0001-jobs',
  'v0.3': '0003-receipts',
  v4: '0004-ledger',
  'v4-rows': '0004-ledger-rows',
  'v4-runs': '0004-output-runs',
  'v4-execution': '0004-with-execution',
  'v4-uploads': '0004-with-uploads',
  'v4-used-objects': '0004-with-used-objects',
};

/** Puts a stored database where a service would find it: the file itself, or one made from its dump. */
function place(testStore: TestStore, version: Version, form: 'db' | 'sql' = 'db'): void {
  const stored = join(FIXTURES, `${version}.${form}`);
  if (form === 'db') copyFileSync(stored, testStore.path);
  else fill(testStore.path, readFileSync(stored, 'utf8'));
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

/** Everything that the schema of a database says. */
function schemaOf(database: DatabaseSync): unknown[] {
  return database.prepare('select type, name, sql from sqlite_master order by type, name').all();
}

function contentsOf(path: string): (readonly [string, readonly object[]])[] {
  using database = new DatabaseSync(path, { readOnly: true });
  const tables = database.prepare("select name from sqlite_master where type = 'table'").all();
  return tables.map(({ name }) => [String(name), database.prepare(`select * from "${String(name)}"`).all()]);
}

describe('a stored database', () => {
  test.each(VERSIONS)('of %s has the schema that its migrations make', async (version) => {
    using connection = openForWriting(':memory:');
    await migrate(connection.db, { until: SCHEMAS[version] });
    using stored = new DatabaseSync(join(FIXTURES, `${version}.db`), { readOnly: true });
    expect(schemaOf(stored)).toEqual(schemaOf(connection.database));
  });

  test.each(VERSIONS)('of %s is upgraded to the schema of a new one, without dangling references', async (version) => {
    using fresh = openForWriting(':memory:');
    await migrate(fresh.db);
    await using testStore = await upgraded(version);
    await testStore.close();
    using database = new DatabaseSync(testStore.path);
    expect(schemaOf(database)).toEqual(schemaOf(fresh.database));
    expect(database.prepare('pragma foreign_key_check').all()).toEqual([]);
    expect(database.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
  });

  test.each(VERSIONS)('of %s and its dump hold the same', async (version) => {
    await using testStore = new TestStore();
    place(testStore, version, 'sql');
    expect(contentsOf(testStore.path)).toEqual(contentsOf(join(FIXTURES, `${version}.db`)));
  });
});

describe.each(['v0.1', 'v0.3'] as const)('the jobs of v0.1 in a database of %s', (version) => {
  let testStore: TestStore;
  let store: Store;
  beforeAll(async () => {
    testStore = await upgraded(version, 'sql');
    store = testStore.store;
  });
  afterAll(() => testStore[Symbol.asyncDispose]());

  test('keep their events, with hash version 0 and no digests (Spec § Events 7)', { tags: ['Events-7c'] }, async () => {
    const page = await store.events({ key: acme('job_09'), after: 0, limit: 10 });
    expect(page?.events.map((event) => event.kind)).toEqual(['queued', 'started', 'stdout', 'stderr', 'finished']);
    for (const event of page?.events ?? []) {
      expect(event).toMatchObject({ hash_version: 0, prev_hash: null, event_hash: null });
    }
    expect(page?.complete).toBe(true);
    expect(verifyChain(page?.events ?? [])).toMatchObject({ kind: 'intact', count: 0, unverifiable: 5 });
  });

  test('show what was submitted as far as it was recorded, and nothing of how they ran (Spec § Job detail)', {
    tags: ['Detail-15'],
  }, async () => {
    const job = await store.job(acme('job_09'));
    expect(job).toMatchObject({
      status: 'succeeded',
      exit_code: 0,
      duration_ms: null,
      terminal_reason: null,
      execution: null,
      attestation: null,
    });
    expect(job?.requested_spec).toEqual({
      language: 'python',
      code: "print('first')",
      stdin: 'ignored',
      limits: { wall_seconds: 5 },
    });
  });

  test('that ended get a receipt of the outcome alone, whose chain is not complete', async () => {
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

  test('that were queued still wait, and those that ran are found by recovery', async () => {
    const { jobs: queued } = await store.queuedJobs(choice({ exclude: [], limit: 10 }));
    expect(queued).toContainEqual({
      ...acme('job_zz'),
      language: 'bash',
      runtime: null,
      mem_mb: 256,
      created_at: '2025-03-01T12:00:10.000Z',
      requested_spec: expect.stringContaining('"language":"bash"') as string,
    });
    expect((await store.runningJobs()).map((job) => job.job_id)).toContain('job_04');
    expect(await store.job(acme('job_04'))).toMatchObject({ status: 'running', receipt_json: null });
  });

  test('are counted, so that bounds and turns hold', async () => {
    const counts = version === 'v0.1' ? { queued: 1, running: 1 } : { queued: 2, running: 2 };
    expect(await store.currentJobs('acme')).toMatchObject(counts);
    expect(await store.counts()).toMatchObject(counts);
  });

  test('belong to their tenants alone', async () => {
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

  test('keep their receipts to the byte, with the tenant or without it (Spec § Result artifact)', async () => {
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
    const [artifact] = (await store.artifacts(acme('job_f0c1'))) ?? [];
    expect(Buffer.from(artifact?.content ?? []).toString()).toBe('kept\n');
    expect(await store.findByIdempotencyKey({ tenant: 'acme', key: 'once' })).toMatchObject({ job: acme('job_07aa') });
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
    // In the order in which they ended, those of v0.1 among them.
    expect(owed).toEqual(['job_09', 'job_02', 'job_01', 'job_f0c1', ...withdrawn.map((key) => key.job_id)]);
  });

  test('are listed by the time of their submission, whatever their ids', async () => {
    const jobs = await listed(store, { tenant: 'acme', limit: 3 });
    expect(jobs.map((job) => job.job_id)).toEqual(['job_00bb', 'job_07aa', 'job_e5f6']);
  });

  test('that were queued run after those that waited longer', async () => {
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

test.each(['v4', 'v4-rows', 'v4-runs', 'v4-execution', 'v4-uploads', 'v4-used-objects'] as const)(
  'a database of %s keeps its jobs and receipts unchanged',
  async (version) => {
    await using testStore = await upgraded(version);
    const key = acme('job_01955f8e-0000-7000-8000-000000000001');
    const stored = new DatabaseSync(join(FIXTURES, `${version}.db`), { readOnly: true });
    const { receipt_json } = stored.prepare('select receipt_json from receipts').get() as { receipt_json: string };
    stored.close();
    expect(await testStore.store.job(key)).toMatchObject({ status: 'succeeded', receipt_json });
  },
);

test.each(['v4', 'v4-rows', 'v4-runs'] as const)(
  'what was observed of the jobs of %s stays with them',
  async (version) => {
    await using testStore = await upgraded(version);
    using stored = new DatabaseSync(join(FIXTURES, `${version}.db`), { readOnly: true });
    const observed = stored.prepare(
      'select job_id, execution from job_specs as s left join job_executions using (tenant, job_id)',
    );
    const rows = observed.all();
    expect(rows.filter(({ execution }) => execution !== null).length).toBeGreaterThan(1);
    for (const { job_id, execution } of rows) {
      const job = await testStore.store.job(acme(String(job_id)));
      expect(job?.execution).toEqual(JSON.parse(String(execution)));
      expect(job?.requested_spec).toHaveProperty('code');
    }
  },
);

test('a history that was begun in rows continues in runs, and its chain holds', async () => {
  await using testStore = await upgraded('v4-rows');
  const key = acme('job_01955f8e-0000-7000-8000-000000000002');
  await testStore.store.append(
    key,
    Array.from({ length: 40 }, (_, line) => stdout(`line ${line}`)),
  );
  const events = (await testStore.store.events({ key, after: 0, limit: 100 }))?.events ?? [];
  expect(verifyChain(events, { job_id: key.job_id, count: 42 })).toMatchObject({ kind: 'intact' });
});

test('the output of a database of v4-runs is read as it was written', async () => {
  await using testStore = await upgraded('v4-runs');
  const key = acme('job_01955f8e-0000-7000-8000-000000000004');
  const extent = await testStore.store.textExtent({ key, kind: 'stdout', after: 0, limit: 100 });
  expect(extent?.text).toBe(Array.from({ length: 40 }, (_, line) => `line ${line} é\\n`).join(''));
  const events = (await testStore.store.events({ key, after: 0, limit: 100 }))?.events ?? [];
  expect(verifyChain(events, { job_id: key.job_id, count: 43 })).toMatchObject({ kind: 'intact' });
});

test('an upgrade keeps the older file beside the new one, unchanged and for its owner alone', async () => {
  await using testStore = await upgraded('v0.3');
  const copy = `${testStore.path}.before-0004-with-used-objects`;
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  expect(contentsOf(copy)).toEqual(contentsOf(join(FIXTURES, 'v0.3.db')));
});

test('a store that needs no upgrade is not copied', async () => {
  await using testStore = await upgraded('v4-used-objects');
  expect(readdirSync(testStore.directory).filter((name) => name.includes('before'))).toEqual([]);
});

/** Opens the store and dies, by SIGKILL, where the connection prepares a statement for the n-th time. */
const DYING = `
  import { DatabaseSync } from 'node:sqlite';
  const [, path, deathAt] = process.argv;
  const { prepare } = DatabaseSync.prototype;
  let prepared = 0;
  DatabaseSync.prototype.prepare = function (text) {
    if (++prepared === Number(deathAt)) process.kill(process.pid, 'SIGKILL');
    return prepare.call(this, text);
  };
  const { openForWriting } = await import('${new URL('../connection.ts', import.meta.url).href}');
  const { migrate } = await import('${new URL('./migrate.ts', import.meta.url).href}');
  const connection = openForWriting(path);
  await migrate(connection.db);
  connection[Symbol.dispose]();
  console.log(prepared);`;

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

/** The rows without what each start writes anew: when a migration was applied, and how often the store was opened. */
function withoutClock(contents: readonly (readonly [string, readonly object[]])[]): unknown {
  return contents.map(([table, rows]) => [table, ['schema_history', 'probes'].includes(table) ? rows.length : rows]);
}
