import { mkdirSync, mkdtempSync, opendirSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIMIT_DEFAULTS } from '@vouchbox/protocol';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Program } from '../../sandbox.ts';
import { Workspace } from './workspace.ts';

let scratch: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-workspace-'));
});
afterEach(() => rmSync(scratch, { recursive: true }));

const content = Buffer.from('a');
const program = (files: Program['files']): Program => ({
  language: 'python',
  code: 'print()',
  stdin: null,
  args: [],
  env: {},
  outputs: [],
  limits: LIMIT_DEFAULTS,
  files,
});

test('two input files may be in the same directory', async () => {
  using workspace = new Workspace(scratch, 'shared');
  await workspace.fill(program(['input/a', 'input/b/c', 'input/b/d'].map((path) => ({ path, content }))));
  expect(readdirSync(join(scratch, 'input/b'))).toEqual(['c', 'd']);
});

test('the writing of files stops when their cell ends, and no file lands in another directory', async () => {
  const other = join(scratch, 'other');
  for (const path of [other, join(scratch, 'cell')]) mkdirSync(path);
  const workspace = new Workspace(join(scratch, 'cell'), 'shared');
  async function* lastPiece(): AsyncGenerator<Uint8Array> {
    workspace[Symbol.dispose]();
    yield content;
  }
  const filling = workspace.fill(
    program([
      { path: 'input/a', content: lastPiece() },
      { path: 'input/b/c', content },
    ]),
  );
  await expect(filling).rejects.toThrow('the cell is gone');
  using _taken = opendirSync(other);
  expect(readdirSync(other)).toEqual([]);
});
