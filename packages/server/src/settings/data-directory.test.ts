import { chmod, chown, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
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
  test('is made with its parents, accessible only to its owner, and used unchanged if it exists', async () => {
    const path = join(root, 'a', 'b');
    await openDataDirectory(path);
    await openDataDirectory(path);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
  });

  test.each(['777', '770', '775', '722', '1777'])(
    'a start fails if others may change the directory, and the message says what to do: mode %s',
    async (mode) => {
      const path = join(root, `open-${mode}`);
      await mkdir(path);
      await chmod(path, Number.parseInt(mode, 8));
      await expect(openDataDirectory(path)).rejects.toMatchObject({
        name: 'StartError',
        message: `the data directory ${path} is open to other users (mode ${mode})`,
        hint: `chmod go-w ${path}`,
      });
      await chmod(path, 0o755);
      await expect(openDataDirectory(path)).resolves.toBeUndefined();
    },
  );

  test.runIf(process.geteuid?.() === 0)(
    'makes a start fail if another user owns it, and the message says what to do',
    async () => {
      const path = join(root, 'foreign');
      await mkdir(path, { mode: 0o700 });
      await chown(path, 65_534, 65_534);
      await expect(openDataDirectory(path)).rejects.toMatchObject({
        name: 'StartError',
        message: expect.stringContaining('belongs to another user') as string,
        hint: expect.stringMatching(/^set SERVICE_DATA_DIR to /) as string,
      });
    },
  );

  test('a start fails if the path is a file', async () => {
    const path = join(root, 'file');
    await writeFile(path, '');
    await expect(openDataDirectory(path)).rejects.toMatchObject({
      name: 'StartError',
      hint: expect.any(String) as string,
    });
    await expect(openDataDirectory(join(path, 'below'))).rejects.toMatchObject({ name: 'StartError' });
  });

  test.runIf(process.platform === 'linux')(
    'a start fails, and does not hang, if the directory cannot be made',
    async () => {
      await expect(openDataDirectory('/proc/none/such')).rejects.toMatchObject({ name: 'StartError' });
    },
  );
});
