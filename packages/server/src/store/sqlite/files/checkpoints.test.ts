import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { TestStore } from '../../store.fixture.ts';
import { openForReading, openForWriting, prepareFile } from '../connection.ts';
import { Checkpoints } from './checkpoints.ts';

const MIB = 1024 * 1024;

/** Writes 120 MiB in transactions of 4 MiB. Returns the log's largest and last size. */
async function writeMuch(
  path: string,
  beforeEach: () => void,
  beforeMoving: () => void,
): Promise<{ largest: number; last: number }> {
  using writer = openForWriting(path);
  writer.database.exec('create table if not exists blobs (number integer primary key, content blob) strict');
  const checkpoints = new Checkpoints(writer.database);
  const insert = writer.database.prepare('insert or replace into blobs values (?, ?)');
  const sizes: number[] = [];
  for (let number = 0; number < 30; number++) {
    beforeEach();
    insert.run(number % 4, new Uint8Array(4 * MIB));
    beforeMoving();
    checkpoints.moveIfLong();
    sizes.push(statSync(`${path}-wal`).size);
  }
  return { largest: Math.max(...sizes), last: sizes.at(-1) ?? 0 };
}

test('the write-ahead log stays bounded however much is written', { tags: ['STORE-08'] }, async () => {
  await using testStore = new TestStore();
  prepareFile(testStore.path);
  const { largest } = await writeMuch(
    testStore.path,
    () => {},
    () => {},
  );
  expect(largest).toBeLessThan(64 * MIB);
});

test('the write-ahead log stays bounded even if a reader is active during every write', {
  tags: ['STORE-08'],
}, async () => {
  await using testStore = new TestStore();
  prepareFile(testStore.path);
  openForWriting(testStore.path)[Symbol.dispose]();
  using reader = openForReading(testStore.path);
  const { largest } = await writeMuch(
    testStore.path,
    () => reader.database.exec('begin; select count(*) from sqlite_master'),
    () => reader.database.exec('commit'),
  );
  expect(largest).toBeLessThan(64 * MIB);
});

test('a long read delays writers only briefly, and the log starts anew when the read ends', {
  tags: ['STORE-08'],
}, async () => {
  await using testStore = new TestStore();
  prepareFile(testStore.path);
  openForWriting(testStore.path)[Symbol.dispose]();
  using reader = openForReading(testStore.path);
  reader.database.exec('begin; select count(*) from sqlite_master');
  let writes = 0;
  const leave = () => {
    if (++writes === 20) reader.database.exec('commit');
  };
  const { largest, last } = await writeMuch(testStore.path, () => {}, leave);
  expect(largest).toBeGreaterThan(64 * MIB);
  expect(last).toBeLessThan(64 * MIB);
});

test('a full checkpoint empties the write-ahead log', async () => {
  await using testStore = new TestStore();
  prepareFile(testStore.path);
  using writer = openForWriting(testStore.path);
  writer.database.exec('create table notes (note text)');
  new Checkpoints(writer.database).moveAll();
  expect(statSync(`${testStore.path}-wal`).size).toBe(0);
});

test('no page is moved from the log while the disk may be full, and all are moved once there is room', async () => {
  await using testStore = new TestStore();
  prepareFile(testStore.path);
  using writer = openForWriting(testStore.path);
  writer.database.exec('create table blobs (content blob) strict');
  let free = 0;
  const checkpoints = new Checkpoints(writer.database, () => free);
  writer.database.prepare('insert into blobs values (?)').run(new Uint8Array(12 * MIB));
  expect(checkpoints.moveIfLong()).toBe(false);
  expect(checkpoints.length().moved).toBe(0);
  free = 16 * MIB;
  expect(checkpoints.moveIfLong()).toBe(true);
  const { log, moved } = checkpoints.length();
  expect(moved).toBe(log);
});
