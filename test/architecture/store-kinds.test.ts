/** The two kinds of store have the same structure: parts that both kinds have are in files with the same name. */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const STORE = join(import.meta.dirname, '../../packages/server/src/store');

/** The files that one kind of store has and the other kind does not need. */
const ALONE = {
  sqlite: {
    'its file, which a server would look after': ['copy-store', 'database', 'files/'],
    'stores of versions that knew no other kind': [
      'migrations/0001-',
      'migrations/0003-',
      'migrations/0004-(?!schema)',
    ],
  },
  postgres: {
    'the way to a server': ['client-certificate', 'encryption'],
    'values that a server spells otherwise': ['text'],
    'nodes that share a store': [
      'fleet',
      'known-nodes',
      'lease',
      'messages',
      'sealed',
      'writing-session',
      'threads/lanes',
      'threads/thread-data',
    ],
    'nodes of an earlier version': ['migrations/schema-(state|upkeep)', 'migrations/take-step'],
  },
} as const;

function filesOf(kind: keyof typeof ALONE): readonly string[] {
  const found = globSync('**/*.ts', { cwd: join(STORE, kind) }).filter((file) => !/\.(test|fixture)\.ts$/.test(file));
  const alone = Object.values(ALONE[kind]).flat();
  const begins = (file: string, beginning: string) => new RegExp(`^${beginning}`).test(file);
  expect(alone.filter((beginning) => !found.some((file) => begins(file, beginning)))).toEqual([]);
  return found.filter((file) => !alone.some((beginning) => begins(file, beginning))).toSorted();
}

test('each file in store/sqlite has a counterpart in store/postgres and vice versa, or a stated reason to have none', () => {
  expect(filesOf('sqlite')).toEqual(filesOf('postgres'));
});
