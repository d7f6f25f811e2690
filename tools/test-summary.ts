import { join } from 'node:path';
import type { Reporter, SerializedError, TestCase, TestModule, Vitest } from 'vitest/node';
import { allStatements, type MarkedTest, strayMarks, unshownStatements } from './statements.ts';
import { filesOfForm } from './test-forms.ts';

/**
 * Ends a run with the plain line `N passed, N failed`, so that any tool can read it. After a whole run, the lines before it name
 * each statement and each attack that no test showed. These count as failed, and so does a tag that names no statement.
 */
export default class TestSummary implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const states = tests.map((test) => test.result().state);
    const gaps = this.#gaps(modules, tests.map(markedTest));
    for (const gap of gaps) print(gap);
    if (gaps.length > 0) process.exitCode = 1;
    const suites = modules.flatMap((module) => [module, ...module.children.allSuites()]);
    const outsideTests = suites.flatMap((suite) => suite.errors()).length + unhandledErrors.length;
    const failed = states.filter((state) => state === 'failed').length + outsideTests + gaps.length;
    print(`${states.filter((state) => state === 'passed').length} passed, ${failed} failed`);
  }

  /** The statements that no test showed, and the tests' tags that name no statement. */
  #gaps(modules: readonly TestModule[], tests: readonly MarkedTest[]): string[] {
    const vitest = this.#vitest;
    if (vitest === undefined) return [];
    const statements = allStatements(vitest.config.root);
    const stray = [...strayMarks(statements, tests)].map(([mark, name]) => `no statement is called ${mark}: ${name}`);
    if (!isWhole(vitest, modules)) return stray;
    const tried = tagsOfFailedFiles(modules);
    const unshown = unshownStatements(statements, tests).map(({ id, text }) =>
      tried.has(id) ? `the file that shows ${id} failed: ${text}` : `no test showed ${id}: ${text}`,
    );
    return [...stray, ...unshown];
  }
}

function markedTest(test: TestCase): MarkedTest {
  return { name: test.fullName, tags: test.tags, hasPassed: test.result().state === 'passed' };
}

/** The tags in files that failed. `.ci/run` runs such files again, but not if the run also lacks a test for a statement. */
function tagsOfFailedFiles(modules: readonly TestModule[]): ReadonlySet<string> {
  const failed = modules.filter((module) => module.state() === 'failed');
  return new Set(failed.flatMap((module) => [...module.children.allTests()].flatMap(({ tags }) => tags)));
}

/** Whether the run has every file of the short form. A run of fewer files cannot tell which statements have no test. */
function isWhole({ config }: Vitest, modules: readonly TestModule[]): boolean {
  if (config.testNamePattern !== undefined || config.tagsFilter !== undefined) return false;
  const ran = new Set(modules.map(({ moduleId }) => moduleId));
  return [...filesOfForm(config.root, 'short')].every((file) => ran.has(join(config.root, file)));
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
