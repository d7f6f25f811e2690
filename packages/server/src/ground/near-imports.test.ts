import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);

/** Loads the modules that a service loads, and prints the address that each import found. */
const LOADER = `
  import { registerHooks } from 'node:module';
  if (process.argv[1] === 'near') await import('./near-imports.ts');
  const found = {};
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context);
      found[specifier + ' of ' + context.parentURL + ' by ' + context.conditions] = resolved.url;
      return resolved;
    },
  });
  const modules = ['../service.ts', '../start/open-sandbox.ts', '../http/app.ts', '../store/sqlite/threads/writer.ts'];
  for (const module of modules) await import(module);
  process.stdout.write(JSON.stringify({ found, builtins: process.moduleLoadList }));`;

interface Loaded {
  /** The address that each import found. */
  readonly found: Readonly<Record<string, string>>;
  /** The modules of Node itself that were loaded. */
  readonly builtins: readonly string[];
}

async function load(imports: 'near' | 'usual'): Promise<Loaded> {
  const words = ['--input-type=module', '--eval', LOADER, imports];
  const { stdout } = await run(process.execPath, words, { cwd: import.meta.dirname, maxBuffer: 2 ** 24 });
  return JSON.parse(stdout) as Loaded;
}

test('the faster resolution of imports finds the same file as Node for every import of the service', async () => {
  const [near, usual] = await Promise.all([load('near'), load('usual')]);
  expect(Object.keys(usual.found).length).toBeGreaterThan(1000);
  expect(near.found).toEqual(usual.found);
});

test("starting the service does not load Node's fetch client", async () => {
  const { builtins } = await load('near');
  expect(builtins.filter((name) => name.endsWith('/undici'))).toEqual([]);
});
