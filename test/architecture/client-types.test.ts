/** What the clients have from the contract is as the contract has it. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { JUDGE } from '@vouchbox/protocol/grading';
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

test('the judge of the Python client is that of the contract; `npm run openapi` writes it', () => {
  expect(readFileSync(join(root, 'clients/python/src/vouchbox/judge.txt'), 'utf8')).toBe(JUDGE);
});
