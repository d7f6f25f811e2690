import { randomInt } from 'node:crypto';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { PATIENCE } from './test/hostile/size.ts';
import { postgresCommands } from './test/rig/postgres-server.ts';
import { NOT_ON_POSTGRES, ON_POSTGRES, ONLY_POSTGRES, POSTGRES_SETUP } from './tools/postgres-tests.ts';
import { allStatements } from './tools/statements.ts';
import { filesOfForm, form, TEST_FILES } from './tools/test-forms.ts';
import TestOrder from './tools/test-order.ts';

const { node } = process.versions;
if (Number.parseInt(node, 10) < 26)
  throw new Error(`tests need Node 26, and this is ${node}: run them with npx vitest`);

/** The seed of property tests. They use other values in every run. `PROPERTY_SEED` repeats the values of a run. */
const propertySeed = Number(process.env['PROPERTY_SEED'] ?? randomInt(2 ** 31));
process.stdout.write(`property tests: PROPERTY_SEED=${propertySeed}\n`);

declare module 'vitest' {
  interface ProvidedContext {
    propertySeed: number;
    /** Which attacks of a class are tried: those that may run together, or those that load or measure the machine. */
    attacks: 'together' | 'alone';
  }
}

const HOSTILE = ['test/hostile/**/*.test.ts'];

/** Files with attacks that run alone. In the short form, gVisor tries only attacks that `namespace` lacks; none runs alone. */
const ALONE = [`test/hostile/{namespace,crun,runsc${form === 'short' ? '' : ',gvisor'}}.test.ts`];

const inForm = filesOfForm(import.meta.dirname);

/** The files of a project that this form of the tests has. */
function chosen(include: readonly string[], exclude: readonly string[] = []): string[] {
  const [included, left] = [include, exclude].map((patterns) => globSync([...patterns], { cwd: import.meta.dirname }));
  return (included ?? []).filter((file) => inForm.has(file) && !left?.includes(file));
}

const hasPostgres = postgresCommands() !== null;
if (!hasPostgres) process.stdout.write('PostgreSQL is not installed: the store is tested on SQLite alone\n');

export default defineConfig({
  test: {
    // Tests run in processes, not threads. An ending thread of Node closes each descriptor that it opened and did not close,
    // such as a pipe that a socket took over. By then, other code may use a new descriptor with the same number.
    pool: 'forks',
    isolate: false,
    provide: { propertySeed },
    // The store's threads, and services that tests start, load already compiled code from this cache.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/node') },
    // These timeouts only end tests that hang. They do not test speed: a busy machine may be slow.
    testTimeout: 120_000 * PATIENCE,
    hookTimeout: 180_000 * PATIENCE,
    expect: { poll: { timeout: 30_000 } },
    sequence: { sequencer: TestOrder },
    // `--tags-filter Receipt-14` runs the tests of that statement, and `--list-tags` lists all tags. The
    // summary names each tag that is not an id, in one line.
    tags: allStatements(import.meta.dirname).map(({ id, text }) => ({ name: id, description: text })),
    strictTags: false,
    reporters: ['default', './tools/test-summary.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'promises',
          include: chosen(TEST_FILES, [...HOSTILE, ...ONLY_POSTGRES]),
          // Three workers on two processors: while one file waits for a service or a cell, another file can run.
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      // The tests of the store, run again on a server that the run starts.
      {
        extends: true,
        test: {
          name: 'postgres',
          include: hasPostgres ? chosen(ON_POSTGRES, NOT_ON_POSTGRES) : [],
          ...POSTGRES_SETUP,
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'hostile',
          include: chosen(HOSTILE),
          provide: { propertySeed, attacks: 'together' },
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      // Attacks that measure or load the machine come last and alone, so that they measure only their own effects.
      {
        extends: true,
        test: {
          name: 'hostile-alone',
          include: chosen(ALONE),
          provide: { propertySeed, attacks: 'alone' },
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
    coverage: { provider: 'v8', include: ['packages/*/src/**/*.ts'] },
  },
});
