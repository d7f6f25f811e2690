import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { TestStore } from '../../store.fixture.ts';
import { openForWriting, prepareFile } from '../connection.ts';
import { LogMark } from './log-mark.ts';

test('log frames that were written without a sync are remembered only together with the next synced frames', async () => {
  await using files = new TestStore();
  prepareFile(files.path);
  using writer = openForWriting(files.path);
  writer.database.exec('create table notes (note text) strict');
  using mark = new LogMark(files.path, { forget: true });
  const remembered = (frames: number, hasLagged: boolean) => {
    mark.remember(frames, { hasLagged });
    return readFileSync(`${files.path}-mark`).readUInt32LE(8);
  };
  expect(remembered(3, false)).toBe(3);
  expect(remembered(5, true)).toBe(3);
  // This commit changed nothing.
  expect(remembered(5, false)).toBe(3);
  expect(remembered(6, false)).toBe(6);
});
