/** The count of lines in each room, and the bounds on the sums: `tools/size.ts`. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { excesses, linesOfRooms, productionOf } from '../../tools/size.ts';

describe('the count of lines in each room', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'svc-size-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  function plant(file: string, text: string): void {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }

  test.each([
    ['packages/client/src/a.ts', 'packages/client', 'TypeScript'],
    ['packages/dashboard/src/parts/a.tsx', 'packages/dashboard', 'TypeScript'],
    ['packages/cli/bin/a.mjs', 'packages/cli', 'JavaScript'],
    ['packages/server/src/service.ts', 'packages/server', 'TypeScript'],
    ['packages/server/src/store/jobs/a.ts', 'packages/server/src/store', 'TypeScript'],
    ['packages/server/src/sandbox/launcher/a.h', 'packages/server/src/sandbox', 'C'],
    ['packages/server/src/sandbox/a.pl', 'packages/server/src/sandbox', 'Perl'],
    ['packages/server/src/job/a.test.ts', 'packages/server/src/job', 'tests'],
    ['packages/server/src/http/a.fixture.ts', 'packages/server/src/http', 'tests'],
    ['packages/server/test/a.ts', 'packages/server', 'tests'],
    ['test/rig/a.ts', 'test', 'tests'],
    ['tools/a.ts', 'tools', 'TypeScript'],
    ['bench/a.ts', 'bench', 'TypeScript'],
  ])('includes %s', (file, room, kind) => {
    plant(file, 'one\ntwo\nthree\n');
    expect([...linesOfRooms(root)]).toEqual([[room, expect.objectContaining({ [kind]: 3 })]]);
  });

  test('counts generated files separately and leaves out installed packages', () => {
    plant('packages/client/src/a.ts', '/** `npm run openapi` writes this file. */\n');
    plant('packages/cli/node_modules/other/a.ts', 'one\n');
    expect([...linesOfRooms(root)]).toEqual([
      ['packages/client', expect.objectContaining({ TypeScript: 0, generated: 1 })],
    ]);
  });

  test('sums up the production code of packages/, without tools/ and bench/', () => {
    for (const file of ['packages/a/src/a.ts', 'packages/b/src/b.ts', 'tools/a.ts', 'bench/a.ts']) plant(file, 'one\n');
    expect(productionOf(linesOfRooms(root))).toMatchObject({ TypeScript: 2, tests: 0 });
  });

  test('may equal the allowed number, and is reported if it exceeds that number', () => {
    const lines = (TypeScript: number) => ({ TypeScript, JavaScript: 0, C: 5, Perl: 9, tests: 9, generated: 9 });
    expect(excesses(lines(10), { TypeScript: 10, C: 5 })).toEqual([]);
    expect(excesses(lines(11), { TypeScript: 10, C: 4 })).toEqual([
      expect.stringContaining('11 lines of TypeScript, of at most 10'),
      expect.stringContaining('5 lines of C, of at most 4'),
    ]);
  });
});
