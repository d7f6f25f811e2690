/** The client's types are made from the tables of the contract. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { clientTypes } from '../../tools/client-types.ts';

const root = join(import.meta.dirname, '../..');
const FILE = 'packages/client/src/contract-types.ts';

test("the client's types are those of the contract; `npm run openapi` writes them", () => {
  const words = ['check', '--write', `--stdin-file-path=${FILE}`];
  const biome = join(root, 'node_modules/.bin/biome');
  const formatted = execFileSync(biome, words, { cwd: root, encoding: 'utf8', input: clientTypes() });
  expect(readFileSync(join(root, FILE), 'utf8')).toBe(formatted);
});
