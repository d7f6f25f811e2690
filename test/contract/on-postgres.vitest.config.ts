import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { CONTRACT_NOT_ON_POSTGRES, POSTGRES_SETUP } from '../../tools/postgres-tests.ts';

/** Tests that open the file of a store, or give a command only the directory of that file. */
const OF_A_FILE = [
  'a key that is issued while no service runs works in the next one',
  'stored bytes are the same after a restart',
  'a job older than the retention is removed',
  'a waiting job keeps the bytes of a removed job',
  'nothing is exported while the service runs',
  'the same is exported after it has stopped',
];

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
    // The tags of tests name statements, which only the configuration of `npm test` declares.
    strictTags: false,
    maxWorkers: 3,
  },
});
