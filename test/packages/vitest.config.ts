import { defineConfig } from 'vitest/config';

/** The trials of the tarballs. `npm test` leaves these trials out, because they install packages from the registry. */
export default defineConfig({
  test: {
    include: ['test/packages/*.trial.ts'],
    globalSetup: ['test/packages/tarballs.ts'],
    // The trials install and compile packages, on a machine that may be busy.
    testTimeout: 300_000,
    hookTimeout: 600_000,
    fileParallelism: false,
    isolate: false,
  },
});
