/** Folders of tests: a file that is not plain is refused at once, without waiting for its content. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readTests } from './grade-tests.ts';

test('a pipe in a folder of tests is refused by its name', { timeout: 5_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'grade-tests-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'a.out'), '3\n');
  execFileSync('mkfifo', [join(folder, 'a.in')]);
  await expect(readTests(folder, 'lines')).rejects.toThrow(/a\.in cannot be read: it is not a plain file$/);
});
