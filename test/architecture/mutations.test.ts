/** The changes that `npm run mutate` makes fit this tree: each finds its text, and falsifies existing statements. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allStatements } from '../../tools/statements.ts';
import { MUTATIONS } from '../mutation/mutations.ts';

const root = join(import.meta.dirname, '../..');
const ids = new Set(allStatements(root).map(({ id }) => id));

describe.each(MUTATIONS)('the change by which $name', ({ file, from, falsifies }) => {
  test('replaces text that occurs once in its file', () => {
    expect(readFileSync(join(root, file), 'utf8').split(from)).toHaveLength(2);
  });

  test('falsifies only existing statements', () => {
    expect(falsifies.filter((id) => !ids.has(id))).toEqual([]);
  });
});
