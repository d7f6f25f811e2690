/** How the tests run against a small change: one file at a time, in the order of `MUTATION_TESTS`. */
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import type { TestSpecification } from 'vitest/node';

const root = join(import.meta.dirname, '../..');
const wanted = (process.env['MUTATION_TESTS'] ?? '').split(' ').map((file) => join(root, file));

class AsGiven {
  shard(files: TestSpecification[]): TestSpecification[] {
    return files;
  }

  sort(files: TestSpecification[]): TestSpecification[] {
    return files.toSorted((one, other) => wanted.indexOf(one.moduleId) - wanted.indexOf(other.moduleId));
  }
}

export default defineConfig({
  root,
  test: {
    include: wanted,
    pool: 'forks',
    isolate: false,
    maxWorkers: 1,
    bail: 1,
    testTimeout: 30_000,
    // Every change is tried with the same random values, so chance does not decide whether a test notices the change.
    provide: { propertySeed: 1 },
    expect: { poll: { timeout: 15_000 } },
    sequence: { sequencer: AsGiven },
    strictTags: false,
  },
});
