import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { openStore } from './open-store.ts';
import { admitJob, TestStore } from './store.fixture.ts';
import type { Store } from './store.ts';
import { StoreError, type StoreErrorCode } from './store-error.ts';

/** The error from a call that must be refused. */
async function refusal(call: Promise<Store>): Promise<StoreError> {
  try {
    await (await call)[Symbol.asyncDispose]();
    throw new Error('the store opened');
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return error;
  }
}

async function expectRefusal(call: Promise<Store>, code: StoreErrorCode): Promise<void> {
  const error = await refusal(call);
  expect(error.code).toBe(code);
  expect(error.message).toMatch(/^[^\n]{10,200}$/);
}

test('a missing store is created, readable only by its owner', async () => {
  await using testStore = await TestStore.open();
  expect(statSync(testStore.path).mode & 0o777).toBe(0o600);
});

test('stored jobs are still there after the store is closed and opened again', async () => {
  await using testStore = await TestStore.open();
  const key = await admitJob(testStore.store);
  const store = await testStore.reopen();
  expect((await store.job(key))?.status).toBe('queued');
});

test('a second service on the same store is refused in one line, and the first service continues', {
  tags: ['STORE-06'],
}, async () => {
  await using testStore = await TestStore.open();
  await expectRefusal(openStore({ dataDir: testStore.directory }), 'locked');
  await testStore.store.probe();
});

test('a store with a newer schema is refused and left unchanged', { tags: ['STORE-07'] }, async () => {
  await using testStore = await TestStore.open();
  await testStore.close();
  using database = new DatabaseSync(testStore.path);
  database.exec("insert into schema_history values ('0099-later', '2030-01-01T00:00:00.000Z')");
  const names = () => database.prepare('select name from schema_history').all();
  const before = names();
  await expectRefusal(openStore({ dataDir: testStore.directory }), 'newer_schema');
  expect(names()).toEqual(before);
});

test('a database of another program is refused and left unchanged', async () => {
  await using testStore = new TestStore();
  using database = new DatabaseSync(testStore.path);
  database.exec('create table recipes (name text)');
  await expectRefusal(openStore({ dataDir: testStore.directory }), 'unrecognised');
  expect(database.prepare('select name from sqlite_master').all()).toEqual([{ name: 'recipes' }]);
});

test('a file that is not a database is refused', async () => {
  await using testStore = new TestStore();
  writeFileSync(testStore.path, 'not a database, but long enough to be asked for its first page\n'.repeat(100));
  await expectRefusal(openStore({ dataDir: testStore.directory }), 'unrecognised');
});

test('a damaged store is refused', async () => {
  await using testStore = await TestStore.open();
  await testStore.close();
  const file = openSync(testStore.path, 'r+');
  writeSync(file, new Uint8Array(3000).fill(0xff), 0, 3000, 100);
  closeSync(file);
  await expectRefusal(openStore({ dataDir: testStore.directory }), 'corrupt');
});

/** The message that another process gets when it runs `first` and then opens the store. */
function toldElsewhere(testStore: TestStore, { first = '', command = [] as string[] } = {}): string {
  const module = new URL('./open-store.ts', import.meta.url).href;
  const program = `
    import { openStore } from '${module}';
    import { writeSync } from 'node:fs';
    ${first};
    const opening = openStore({ dataDir: process.argv[1] });
    writeSync(1, await opening.then(() => 'opened', (error) => error.code + ' ' + error.message));
    process.exit();`;
  const node = [process.execPath, '--input-type=module', '--eval', program, testStore.directory];
  const [file = '', ...rest] = [...command, ...node];
  const child = spawnSync(file, rest, { encoding: 'utf8' });
  expect(child.stderr).toBe('');
  return child.stdout;
}

test('a store that one process has open is refused to another process until the first closes it or ends', async () => {
  await using testStore = await TestStore.open();
  expect(toldElsewhere(testStore)).toMatch(/^locked /);
  await testStore.close();
  expect(toldElsewhere(testStore)).toBe('opened');
  await (await testStore.reopen()).probe();
});

const isRoot = process.getuid?.() === 0;
const mayMount = isRoot && spawnSync('unshare', ['--mount', 'true']).status === 0;

test.skipIf(!isRoot)('a store of another owner is refused', { tags: ['STORE-05'] }, async () => {
  await using testStore = await TestStore.open();
  await testStore.close();
  const first = 'process.setgid(65534); process.setuid(65534)';
  expect(toldElsewhere(testStore, { first })).toMatch(/^unopenable .*EACCES/);
});

test.skipIf(!mayMount)('a store on a read-only file system is refused', async () => {
  await using testStore = await TestStore.open();
  await testStore.close();
  const mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"';
  const command = ['unshare', '--mount', 'sh', '-c', mount, testStore.directory];
  expect(toldElsewhere(testStore, { command })).toMatch(/^read_only /);
});

test('a path at which a store cannot be made is refused', async () => {
  await using testStore = new TestStore();
  mkdirSync(testStore.path);
  await expectRefusal(openStore({ dataDir: testStore.directory }), 'unopenable');
  await expectRefusal(openStore({ dataDir: join(testStore.directory, 'svc.db', '\0') }), 'internal');
});

test('the URL of a store names its file, and any other scheme is refused without showing the URL', async () => {
  await using testStore = new TestStore();
  const path = join(testStore.directory, 'elsewhere.db');
  await using store = await openStore({ dataDir: testStore.directory, databaseUrl: `sqlite:${path}` });
  await store.probe();
  expect(statSync(path).size).toBeGreaterThan(0);
  const error = await refusal(openStore({ dataDir: testStore.directory, databaseUrl: 'mysql://svc:secret@db/svc' }));
  expect(error.code).toBe('unopenable');
  expect(error.message).not.toContain('secret');
});

test('a closed store refuses every call as unavailable', async () => {
  await using testStore = await TestStore.open();
  const { store } = testStore;
  await testStore.close();
  await expect(store.probe()).rejects.toMatchObject({ code: 'unavailable' });
  await expect(store.counts()).rejects.toMatchObject({ code: 'unavailable' });
});
