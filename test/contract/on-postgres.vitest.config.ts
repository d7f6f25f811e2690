import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { CONTRACT_NOT_ON_POSTGRES, POSTGRES_SETUP } from '../../tools/postgres-tests.ts';

/** The first words in the titles of tests that open a store's file, or that give a command only the store's directory. */
const OF_A_FILE = [
  'a service accepts a key that was issued before its start',
  'the bytes of an attestation are the same after a restart',
  'a signed job older than the retention is removed',
  'an output stays stored for a waiting job after its own job is removed',
  'is refused while the service runs, and the message says to ask the service',
  'has the same files as one from the running service, whichever key signed the job',
  'an export from the data directory of the stopped service has the canary too',
  'an export of a graph from a stopped service',
  'is exported from the data of the service after the service has stopped',
  'a large output is stored as long as its own job',
  'a link survives a restart, and is removed with its job',
  'that is damaged in the store is never passed to a program',
];

const sources = globSync('*.test.ts', { cwd: import.meta.dirname }).map((name) =>
  readFileSync(join(import.meta.dirname, name), 'utf8').replaceAll(/\b(?:slowTest|test)\(\s*/g, 'test('),
);
const isTest = (title: string) => (source: string) =>
  ["'", '"'].some((quote) => source.includes(`test(${quote}${title}`));
const unknown = OF_A_FILE.filter((title) => !sources.some(isTest(title)));
if (unknown.length > 0) throw new Error(`no test has the title: ${unknown.join('; ')}`);

/** The whole contract over services whose stores are on PostgreSQL. `npm test` runs a part of it. */
export default defineConfig({
  test: {
    ...POSTGRES_SETUP,
    include: ['test/contract/**/*.test.ts'],
    exclude: CONTRACT_NOT_ON_POSTGRES,
    testNamePattern: new RegExp(`^(?!.*(${OF_A_FILE.join('|')}))`),
    pool: 'forks',
    isolate: false,
    provide: { propertySeed: 1 },
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/node') },
    testTimeout: 120_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    // Tests' tags are statement ids. Only the configuration for `npm test` declares them, so any tag is allowed here.
    strictTags: false,
    maxWorkers: 3,
  },
});
