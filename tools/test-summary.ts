import type { Reporter, SerializedError, TestModule } from 'vitest/node';

/**
 * Closes a run with the plain line `N passed, N failed`, which any tool can read. Before it stand the tests that passed at
 * their second try only, which is a fault to be found.
 */
export default class TestSummary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    let passed = 0;
    // What fails outside of any test has failed all the same.
    let failed = unhandledErrors.length;
    for (const module of modules) {
      failed += module.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (test.diagnostic()?.flaky) process.stdout.write(`passed at a second try: ${test.fullName}\n`);
        if (state === 'passed') passed++;
        if (state === 'failed') failed++;
      }
    }
    process.stdout.write(`${passed} passed, ${failed} failed\n`);
  }
}
