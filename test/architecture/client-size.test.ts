/** The size that the client adds to a page, measured on the published files. `npm run packages` shows the other sizes. */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { bundleClient } from '../../tools/packages/client-bundle.ts';

const clientBytesMax = 8800;

test('the client’s index.js has at most 8.8 kB compressed, and imports no file before a call needs the file', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchbox-client-'));
  try {
    await bundleClient(join(import.meta.dirname, '../../packages/client/src/index.ts'), directory);
    const later = globSync('*.js', { cwd: directory }).filter((name) => name !== 'index.js');
    expect(later.sort()).toEqual([
      'answer-check.js',
      'blobs.js',
      'canonical-json.js',
      'grade.js',
      'gradings.js',
      'links.js',
      'older-server.js',
      'program-session.js',
      'promise.js',
      'run-tools.js',
      'tools.js',
      'verify-record.js',
      'workspace.js',
    ]);
    const text = readFileSync(join(directory, 'index.js'), 'utf8');
    expect(text).not.toMatch(/\bfrom ?["'`]|\bimport ?["'`]/);
    const { length } = gzipSync(text, { level: 9 });
    expect(length).toBeLessThanOrEqual(clientBytesMax);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
