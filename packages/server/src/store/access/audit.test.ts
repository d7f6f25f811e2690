/** When a store is opened with a check, damage is found and its place stated, but nothing is repaired. */
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { copyStore } from '../sqlite/copy-store.ts';
import { openSqliteStore } from '../sqlite/open.ts';
import { admitJob, finishOf, runJob, stdout, TestStore } from '../store.fixture.ts';
import { SAME_THREAD } from '../threads.fixture.ts';

async function filled(): Promise<TestStore> {
  const testStore = await TestStore.open();
  for (let number = 0; number < 3; number++) {
    const key = await runJob(testStore.store);
    await testStore.store.append(key, [stdout('hé'), stdout('two')]);
    await testStore.store.finish(finishOf(key));
  }
  const talkative = await runJob(testStore.store);
  const lines = Array.from({ length: 40 }, (_, line) => stdout(`line ${line}`));
  await testStore.store.finish(finishOf(talkative, { events: lines }));
  await admitJob(testStore.store);
  await testStore.close();
  return testStore;
}

const opened = ({ path }: TestStore, check: 'off' | 'quick' | 'full') =>
  openSqliteStore({ path, check, onProblem: () => {}, threads: SAME_THREAD });

test('an intact store passes every check', async () => {
  await using testStore = await filled();
  for (const check of ['off', 'quick', 'full'] as const) {
    await using store = await opened(testStore, check);
    await expect(store.probe()).resolves.toBeUndefined();
  }
});

test('an upgraded store passes the checks, although its events of v0.1 have no hashes', async () => {
  await using testStore = new TestStore();
  copyFileSync(join(import.meta.dirname, '../sqlite/migrations/fixtures/v0.3.db'), testStore.path);
  await using store = await opened(testStore, 'full');
  await expect(store.probe()).resolves.toBeUndefined();
});

test.each([
  [
    'a changed event',
    `update events set data = '{"text":"changed"}' where kind = 'stdout'`,
    /history of job_.* \(digest\)/,
  ],
  ['a cut-off end', "delete from events where kind = 'finished'", /history of job_.* \(head\)/],
  ['an event made to look migrated', 'update events set hash_version = 0 where seq = 2', /\(hash_version\)/],
  ['data that is not JSON', "update events set data = '{' where seq = 2", /\(digest\)/],
  [
    'a changed receipt',
    `update receipts set receipt_json = replace(receipt_json, 'succeeded', 'failed')`,
    /receipt of job_/,
  ],
  ['another receipt digest', "update receipts set receipt_sha256 = 'x'", /receipt of job_/],
  [
    'a changed digest of a line',
    'update output_runs set event_hashes = zeroblob(length(event_hashes))',
    /history of job_.* \(digest\)/,
  ],
  ['output that cannot be read', "update output_runs set content = x'28b52ffd00'", /output of job_.* cannot be read/],
  ['a lost run of output', 'delete from output_runs', /history of job_.* is broken/],
  ['rows of no job', "pragma foreign_keys = off; update artifacts set tenant = 't'; delete from jobs", /do not exist/],
])('the full check of a store finds %s, and leaves the store unchanged', async (_, damage, message) => {
  await using testStore = await filled();
  using database = new DatabaseSync(testStore.path);
  database.exec(damage);
  database.exec('pragma wal_checkpoint(truncate)');
  const before = readFileSync(testStore.path);
  const error = await opened(testStore, 'full').catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'corrupt', message: expect.stringMatching(message) });
  expect(String(error)).not.toContain('\n');
  expect(readFileSync(testStore.path)).toEqual(before);
});

test('the quick check of a store finds a damaged page that opening the store does not find', {
  tags: ['STORE-07'],
}, async () => {
  await using testStore = await filled();
  const bytes = readFileSync(testStore.path);
  const [rootpage] = pagesOf(testStore.path, 'events');
  // Damages the number of b-tree cells that the table's root page states.
  bytes.writeUInt16BE(0xffff, ((rootpage ?? 0) - 1) * 4096 + 3);
  writeFileSync(testStore.path, bytes);
  await expect(opened(testStore, 'quick')).rejects.toMatchObject({ code: 'corrupt' });
});

function pagesOf(path: string, table: string): number[] {
  using database = new DatabaseSync(path, { readOnly: true });
  return database
    .prepare('select rootpage from sqlite_master where name = ?')
    .all(table)
    .map((row) => Number(row['rootpage']));
}

test('a copy that is made while jobs are being stored is whole, readable only by its owner, and passes the audit', async () => {
  await using testStore = await TestStore.open();
  await using restored = new TestStore();
  const written: Promise<unknown>[] = [];
  const life = async () => {
    const key = await runJob(testStore.store);
    await testStore.store.append(key, [stdout('hé')]);
    await testStore.store.finish(finishOf(key));
    return key;
  };
  const first = await life();
  for (let number = 0; number < 200; number++) written.push(life());
  await written[0];
  using reader = new DatabaseSync(testStore.path, { readOnly: true });
  copyStore(reader, restored.path);
  await Promise.all(written);
  expect(statSync(restored.path).mode & 0o777).toBe(0o600);
  await using store = await opened(restored, 'full');
  expect((await store.job(first))?.status).toBe('succeeded');
});
