import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { createFreeSpaceReserve } from './free-space.ts';

test('jobs are admitted while the free-space reserve is free', () => {
  expect(() => createFreeSpaceReserve({ directory: tmpdir(), reserveMb: 0 }).check()).not.toThrow();
});

test('a free-space reserve larger than the file system refuses jobs with insufficient_storage and Retry-After', () => {
  const { blocks, bsize } = statfsSync(tmpdir());
  const reserveMb = Math.ceil((blocks * bsize) / 2 ** 20) + 1;
  expect(() => createFreeSpaceReserve({ directory: tmpdir(), reserveMb }).check()).toThrow(
    expect.objectContaining({ code: 'insufficient_storage', status: 507, retryAfterSeconds: 10 }),
  );
});

test('an unreadable file system is an error of the service, not of the caller', () => {
  const reserve = createFreeSpaceReserve({ directory: '/nowhere/at/all', reserveMb: 0 });
  expect(() => reserve.check()).toThrow(expect.objectContaining({ code: 'internal' }));
});
