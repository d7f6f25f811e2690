import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDataDirectory } from './data-directory.ts';

let root = '';
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'svc-data-directory-'));
});
afterAll(() => rm(root, { recursive: true }));

describe('the data directory', () => {
  test('is made with those above it, for its owner alone, and taken as it is where it exists', async () => {
    const path = join(root, 'a', 'b');
    await openDataDirectory(path);
    await openDataDirectory(path);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
  });

  test('where a file is ends the start', async () => {
    const path = join(root, 'file');
    await writeFile(path, '');
    await expect(openDataDirectory(path)).rejects.toMatchObject({
      name: 'StartError',
      hint: expect.any(String) as string,
    });
    await expect(openDataDirectory(join(path, 'below'))).rejects.toMatchObject({ name: 'StartError' });
  });

  test.runIf(process.platform === 'linux')(
    'where nothing can be made ends the start, and does not hang it',
    async () => {
      await expect(openDataDirectory('/proc/none/such')).rejects.toMatchObject({ name: 'StartError' });
    },
  );
});
