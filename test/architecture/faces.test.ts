/** A package entry for quick starts loads nothing slow: no schemas, no query builder, no HTTP. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Prints the names of the third-party packages that an import loads. */
const PROBE = `
  import { registerHooks } from 'node:module';
  const loaded = new Set();
  registerHooks({
    load(url, context, nextLoad) {
      loaded.add(/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1]);
      return nextLoad(url, context);
    },
  });
  await import(process.argv[1]);
  console.log(JSON.stringify([...loaded].filter((name) => name !== undefined).sort()));`;

async function packagesOf(face: string): Promise<string[]> {
  const words = ['--input-type=module', '--eval', PROBE, face];
  const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: root });
  return JSON.parse(stdout) as string[];
}

test.each([
  ['@vouchbox/protocol', []],
  ['@vouchbox/protocol/vocabulary', []],
  ['@vouchbox/client', []],
  ['@vouchbox/evidence', ['canonicalize']],
  ['@vouchbox/server/administration', ['canonicalize']],
  ['vouchbox', ['commander']],
  ['@vouchbox/verifier', ['canonicalize']],
  ['@vouchbox/verifier/command', ['canonicalize', 'commander']],
])('%s loads %j, and no other third-party package', async (face, names) => {
  expect(await packagesOf(face)).toEqual(names);
});

test("a service starts without the packages that only some settings, an operator's build or a library's checks need", async () => {
  const loaded = await packagesOf('@vouchbox/server/service');
  expect(loaded).toContain('fastify');
  const unneeded = ['typebox', 'ajv', 'kysely', 'jose', '@prometheus-io/client', '@opentelemetry/api'];
  expect(unneeded.filter((name) => loaded.includes(name))).toEqual([]);
});

test('the packages that a whole package loads are noticed', async () => {
  expect(await packagesOf('@vouchbox/server')).toContain('typebox');
});
