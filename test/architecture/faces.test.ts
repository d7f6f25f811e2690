/** What is imported to start at once loads nothing that takes its time: no schemas, no query builder, no HTTP. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Prints the names of the packages of others that an import brings along. */
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
  ['@svc/protocol', []],
  ['@svc/protocol/vocabulary', []],
  ['@svc/client', []],
  ['@svc/evidence', ['canonicalize']],
  ['@svc/server/administration', ['canonicalize']],
  ['@svc/cli', ['commander']],
  ['@svc/verifier', ['canonicalize', 'commander']],
])('%s brings %j along, and nothing else of others', async (face, names) => {
  expect(await packagesOf(face)).toEqual(names);
});

test("a service starts without what only some settings, an operator's build or a library's own checks need", async () => {
  const loaded = await packagesOf('@svc/server/service');
  expect(loaded).toContain('fastify');
  const unneeded = ['typebox', 'ajv', 'kysely', 'jose', '@prometheus-io/client', '@opentelemetry/api'];
  expect(unneeded.filter((name) => loaded.includes(name))).toEqual([]);
});

test('what a whole package brings along is noticed', async () => {
  expect(await packagesOf('@svc/server')).toContain('typebox');
});
