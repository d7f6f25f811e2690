/** An archive of packages has every name and mode that a cell restores, and equal files always give equal bytes. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeArchive } from './archive.ts';

const LONG = `${'long'.repeat(30)}/${'näme'.repeat(30)}`;

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'vouchbox-archive-test-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, 'root'));
  return directory;
}

test('tar extracts every file that was packed into an archive of libraries', async () => {
  const directory = scratch();
  const root = join(directory, 'root');
  mkdirSync(join(root, LONG), { recursive: true });
  writeFileSync(join(root, LONG, 'deep.py'), 'deep');
  writeFileSync(join(root, 'tool'), '#!/bin/sh\n');
  chmodSync(join(root, 'tool'), 0o4755);
  writeFileSync(join(root, 'large.bin'), Buffer.alloc(300_000, 'a'));
  chmodSync(join(root, 'large.bin'), 0o600);
  await writeArchive(root, join(directory, 'a.tar.gz'));
  const out = join(directory, 'out');
  mkdirSync(out);
  execFileSync('tar', ['-xzf', join(directory, 'a.tar.gz'), '-C', out]);
  expect(execFileSync('diff', ['-r', root, out], { encoding: 'utf8' })).toBe('');
  const listed = execFileSync('tar', ['-tvzf', join(directory, 'a.tar.gz')], { encoding: 'utf8' });
  expect(
    listed
      .split('\n')
      .filter((line) => !line.startsWith('d'))
      .map((line) => line.slice(0, 10)),
  ).toEqual(['-rw-r--r--', '-rw-r--r--', '-rwxr-xr-x', '']);
});

test('an archive of libraries has the same bytes if only file times and the order of creation differ', async () => {
  const archives = [];
  for (const name of ['b', 'a']) {
    const directory = scratch();
    for (const file of name === 'a' ? ['x', 'y'] : ['y', 'x']) writeFileSync(join(directory, 'root', file), file);
    execFileSync('touch', ['-d', `200${name === 'a' ? 1 : 2}-01-01`, join(directory, 'root', 'x')]);
    await writeArchive(join(directory, 'root'), join(directory, 'a.tar.gz'));
    archives.push(readFileSync(join(directory, 'a.tar.gz')));
  }
  expect(archives[0]).toEqual(archives[1]);
});

test.each([
  ['nothing', () => {}, 'there are no packages'],
  [
    'a link',
    (root: string) => symlinkSync('/etc/passwd', join(root, 'link')),
    'link is neither a file nor a directory',
  ],
  [
    'more bytes than a cell unpacks',
    (root: string) => {
      execFileSync('truncate', ['-s', '512M', join(root, 'large')]);
      writeFileSync(join(root, 'one'), '1');
    },
    'a cell unpacks at most 50000 of them, and 536870912 bytes',
  ],
])('an archive of %s is refused', async (_, plant, problem) => {
  const directory = scratch();
  plant(join(directory, 'root'));
  await expect(writeArchive(join(directory, 'root'), join(directory, 'a.tar.gz'))).rejects.toThrow(problem);
  expect(existsSync(join(directory, 'a.tar.gz'))).toBe(false);
});
