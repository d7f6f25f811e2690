/** In a tree of the project, runs the tests tagged with one of these ids, and says how each test ended. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface MarkedRun {
  readonly tests: readonly { readonly name: string; readonly tags: readonly string[]; readonly state: string }[];
}

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly tags: readonly string[];
      readonly status: string;
    }[];
  }[];
}

const MILLISECONDS_MAX = 600_000;

/** Runs these tests. Rejects if the run gave no report, for example because the tests could not be loaded. */
export async function runMarked(tree: string, ids: readonly string[]): Promise<MarkedRun> {
  const report = join(tree, 'marked.json');
  const filter = ids.join(' || ');
  const files = await filesThatName(tree, ids);
  const options = ['run', ...files, '--tags-filter', filter, '--reporter', 'json', '--outputFile', report];
  await finished(join(tree, 'node_modules/.bin/vitest'), options, tree);
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  return {
    tests: tests
      .filter(({ tags, status }) => status !== 'skipped' && tags.some((tag) => ids.includes(tag)))
      .map(({ fullName, tags, status }) => ({ name: fullName, tags, state: status })),
  };
}

/** The test files that contain one of the ids. To load other files would only take time. */
async function filesThatName(tree: string, ids: readonly string[]): Promise<string[]> {
  const names = ids.flatMap((id) => ['-e', `'${id}'`]);
  const found = await finished('grep', ['-rlF', ...names, '--include=*.test.ts', 'packages', 'test'], tree);
  return found.split('\n').filter((file) => file !== '');
}

/** A command's output, even if the command failed, because a failing test is the goal. */
function finished(command: string, given: readonly string[], cwd: string): Promise<string> {
  const options = { cwd, timeout: MILLISECONDS_MAX, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    execFile(command, given, options, (_error, stdout) => resolve(stdout));
  });
}
