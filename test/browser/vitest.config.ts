import { defineConfig } from 'vitest/config';

/**
 * `npm run browser`: every test of the built pages in Chromium. `npm run long` runs only the short tests, in `*.test.ts`. The
 * trials take longer or write the pictures for the documents.
 */
export default defineConfig({
  test: {
    include: ['test/browser/**/*.{test,trial}.ts'],
    // A busy machine may need this long.
    testTimeout: 120_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    fileParallelism: false,
    // vitest.config.ts at the root declares the tags of statements.
    strictTags: false,
    isolate: false,
    reporters: ['default', './tools/test-summary.ts'],
  },
});
