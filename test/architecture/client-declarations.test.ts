/** The client's declarations, as they are published. `npm run packages` compiles projects that use them. */
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { copyDeclarations } from '../../tools/packages/client-bundle.ts';

const root = join(import.meta.dirname, '../..');

test('the client’s declarations name no other package, because the client is installed without other packages', () => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchbox-declarations-'));
  try {
    const settings = ['--ignoreConfig', '--noCheck', '--declaration', '--emitDeclarationOnly', '--target', 'esnext'];
    const names = ['--module', 'nodenext', '--rewriteRelativeImportExtensions', '--rootDir', 'packages'];
    const entries = ['packages/client/src/index.ts', 'packages/protocol/src/grading-record.ts'];
    const compiled = join(directory, 'compiled');
    const words = [...settings, ...names, '--outDir', compiled, ...entries];
    execFileSync(join(root, 'node_modules/.bin/tsc'), words, { cwd: root });
    copyDeclarations(join(compiled, 'client/src'), join(directory, 'published'));
    const files = globSync('**/*.d.ts', { cwd: join(directory, 'published') });
    expect(files).toEqual(expect.arrayContaining(['index.d.ts', 'links.d.ts', 'contract/grading-record.d.ts']));
  } finally {
    rmSync(directory, { recursive: true });
  }
});
