/** What the client costs a page, of the files that are published. `npm run packages` shows the rest. */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { bundleClient } from '../../tools/packages/client-bundle.ts';

const clientBytesMax = 6000;

test('the client is one file of at most 6 kB when it is compressed, and two that a workspace and a check load', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchbox-client-'));
  try {
    await bundleClient(join(import.meta.dirname, '../../packages/client/src/index.ts'), directory);
    expect(globSync('**/*.js', { cwd: directory }).sort()).toEqual(['index.js', 'verify-record.js', 'workspace.js']);
    const { length } = gzipSync(readFileSync(join(directory, 'index.js')), { level: 9 });
    expect(length).toBeLessThanOrEqual(clientBytesMax);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
