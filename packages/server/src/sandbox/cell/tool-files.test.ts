import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { toolFiles } from './tool-files.ts';

test('docs/AGENTS.md lists exactly the files that a cell with tools has, each with its digest', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../../../docs/AGENTS.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `\/(\S+)` \| `([0-9a-f]{64})` \|$/gm)].map(
    ([, file, digest]) => `${file} ${digest}`,
  );
  const digests = Object.entries(toolFiles()).map(
    ([place, content]) => `${place} ${createHash('sha256').update(content).digest('hex')}`,
  );
  expect(rows.toSorted()).toEqual(digests.toSorted());
});
