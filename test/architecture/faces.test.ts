/** A package entry that must start quickly loads nothing slow: no schemas, no query builder, no HTTP. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Prints the names of the third-party packages that the given imports load. */
const PROBE = `
  import { registerHooks } from 'node:module';
  const loaded = new Set();
  registerHooks({
    load(url, context, nextLoad) {
      loaded.add(/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1]);
      return nextLoad(url, context);
    },
  });
  for (const face of process.argv.slice(1)) await import(face);
  console.log(JSON.stringify([...loaded].filter((name) => name !== undefined).sort()));`;

async function packagesOf(...faces: readonly string[]): Promise<string[]> {
  const words = ['--input-type=module', '--eval', PROBE, ...faces];
  const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: root });
  return JSON.parse(stdout) as string[];
}

test.each([
  ['@vouchbox/protocol', []],
  ['@vouchbox/protocol/vocabulary', []],
  ['@vouchbox/protocol/words', []],
  ['@vouchbox/client', []],
  ['@vouchbox/evidence', ['canonicalize']],
  ['@vouchbox/server/administration', ['canonicalize']],
  ['vouchbox', ['commander']],
  ['@vouchbox/verifier', ['canonicalize']],
  ['@vouchbox/verifier/command', ['canonicalize', 'commander']],
])('%s loads %j and no other third-party package', async (face, names) => {
  expect(await packagesOf(face)).toEqual(names);
});

test("a service starts without loading packages that only some settings, an operator's build or a check need", async () => {
  // The service loads these two files later, once the store's threads have something to do.
  const later = ['start/open-sandbox.ts', 'http/app.ts'].map((file) => join(root, 'packages/server/src', file));
  const loaded = await packagesOf('@vouchbox/server/service', ...later);
  expect(loaded).toContain('fastify');
  const unneeded = ['typebox', 'ajv', 'kysely', 'jose', '@prometheus-io/client', '@opentelemetry/api'];
  expect(unneeded.filter((name) => loaded.includes(name))).toEqual([]);
});

test('packagesOf also reports the packages that the entry of the whole server package loads', async () => {
  expect(await packagesOf('@vouchbox/server')).toContain('typebox');
});
