import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeDirectories } from './make-directories.ts';

const emptyDirectory = () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-make-directories-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
};

test('a directory is made with its missing parents, all with the given mode, and an existing one is left as it is', () => {
  const root = emptyDirectory();
  makeDirectories(join(root, 'a/b/'), 0o700);
  makeDirectories(join(root, 'a/b'), 0o755);
  makeDirectories(relative('.', join(root, 'c/d')), 0o711);
  makeDirectories('/', 0o700);
  const modes = ['a', 'a/b', 'c', 'c/d'].map((path) => statSync(join(root, path)).mode & 0o777);
  expect(modes).toEqual([0o700, 0o700, 0o711, 0o711]);
});

test('making a directory fails below a file and at the path of a file', () => {
  const file = join(emptyDirectory(), 'file');
  writeFileSync(file, '');
  expect(() => makeDirectories(file)).toThrow('EEXIST');
  expect(() => makeDirectories(join(file, 'a/b'))).toThrow(/EEXIST|ENOTDIR/);
});

test.runIf(process.platform === 'linux')(
  'a file system that cannot make directories, such as /proc, causes an error instead of an endless loop',
  () => {
    expect(() => makeDirectories('/proc/1/none/such')).toThrow(
      "ENOENT: no such file or directory, mkdir '/proc/1/none'",
    );
  },
);
