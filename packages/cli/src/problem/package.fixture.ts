/** Writes problem packages for tests, and reads them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';
import { readProblem } from './read-problem.ts';

export type Files = Readonly<Record<string, string>>;

export const scratch = mkdtempSync(join(tmpdir(), 'svc-problem-'));
afterAll(() => rmSync(scratch, { recursive: true }));

let made = 0;

/** Writes files below a new directory. */
export function write(files: Files): string {
  const directory = join(scratch, `p${made++}`);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  return directory;
}

export const read = (files: Files) => readProblem(write(files), 'lines');

const TWO = {
  'data/sample/1.in': '1 2\n',
  'data/sample/1.ans': '3\n',
  'data/secret/a/1.in': '5 5\n',
  'data/secret/a/1.ans': '10\n',
};
export const plain = { 'problem.yaml': 'name: Sums\n', ...TWO };
