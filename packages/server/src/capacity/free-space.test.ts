import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { createFreeSpaceReserve } from './free-space.ts';

test('a file system with enough free space admits jobs', () => {
  expect(() => createFreeSpaceReserve({ directory: tmpdir(), reserveMb: 0 }).check()).not.toThrow();
});

test('a file system with less free space than the reserve refuses jobs with insufficient_storage and Retry-After', () => {
  const { blocks, bsize } = statfsSync(tmpdir());
  const reserveMb = Math.ceil((blocks * bsize) / 2 ** 20) + 1;
  expect(() => createFreeSpaceReserve({ directory: tmpdir(), reserveMb }).check()).toThrow(
    expect.objectContaining({ code: 'insufficient_storage', status: 507, retryAfterSeconds: 10 }),
  );
});

test('a file system that cannot be read is reported as an internal error, not as an error of the caller', () => {
  const reserve = createFreeSpaceReserve({ directory: '/nowhere/at/all', reserveMb: 0 });
  expect(() => reserve.check()).toThrow(expect.objectContaining({ code: 'internal' }));
});
