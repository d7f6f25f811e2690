import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { createFreeSpaceReserve } from './free-space.ts';

test('a reserve that is free lets jobs in', async () => {
  await expect(createFreeSpaceReserve({ directory: tmpdir(), reserveMb: 0 }).check()).resolves.toBeUndefined();
});

test('a reserve larger than the file system refuses with insufficient_storage and Retry-After', async () => {
  const { blocks, bsize } = await statfs(tmpdir());
  const reserveMb = Math.ceil((blocks * bsize) / 2 ** 20) + 1;
  await expect(createFreeSpaceReserve({ directory: tmpdir(), reserveMb }).check()).rejects.toMatchObject({
    code: 'insufficient_storage',
    status: 507,
    retryAfterSeconds: 10,
  });
});

test('a file system that cannot be asked is a fault of the service, not of the caller', async () => {
  const reserve = createFreeSpaceReserve({ directory: '/nowhere/at/all', reserveMb: 0 });
  await expect(reserve.check()).rejects.toMatchObject({ code: 'internal' });
});
