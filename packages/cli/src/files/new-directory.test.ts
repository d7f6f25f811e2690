/** Which files are left if a directory cannot be replaced. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { replaceDirectory } from './new-directory.ts';

const isRoot = process.getuid?.() === 0;

let here: string;
let target: string;
beforeEach(() => {
  here = mkdtempSync(join(tmpdir(), 'vouchbox-replaced-'));
  target = join(here, 'verdict');
  mkdirSync(target);
  writeFileSync(join(target, 'text'), 'earlier');
});
afterEach(() => {
  // A file system that was mounted in a directory may have moved with that directory.
  const mounted = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
  for (const path of mounted.filter((path) => path.startsWith(`${here}/`))) execFileSync('umount', [path]);
  rmSync(here, { recursive: true, force: true });
});

/** Mounts a file system at a directory, so that the kernel lets nobody move or remove the directory. */
function mount(path: string): void {
  mkdirSync(path, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', 'none', path]);
}

function replaced(): Promise<unknown> {
  return replaceDirectory(target, (directory) => directory.write('text', Buffer.from('new')));
}

test.runIf(isRoot)('if the earlier directory cannot be removed, it is named, and the new one is in place', async () => {
  mount(join(target, 'inside'));
  const failure = await replaced().catch((error: Error) => error.message);
  const [earlier = ''] = readdirSync(here).filter((name) => name.startsWith('verdict.earlier-'));
  const path = join(here, earlier);
  expect(failure).toMatch(`${target} is written, but the earlier one could not be removed and is now ${path}: EBUSY`);
  expect(readFileSync(join(target, 'text'), 'utf8')).toBe('new');
});

test.runIf(isRoot)('a directory that cannot be moved stays as it is, and nothing is left beside it', async () => {
  mount(target);
  writeFileSync(join(target, 'text'), 'mounted');
  const failure = await replaced().catch((error: Error) => error.message);
  const left = [readdirSync(here), readFileSync(join(target, 'text'), 'utf8')];
  expect(failure).toMatch(`${target} could not be written: EBUSY`);
  expect(left).toEqual([['verdict'], 'mounted']);
});
