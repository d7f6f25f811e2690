/** Reads tests from a directory: `NAME.in` has the program's input, and `NAME.out` has the expected output. */
import { readdir } from 'node:fs/promises';
import { join, parse } from 'node:path';
import type { GradeTest } from '@vouchbox/client';
import type { Comparison } from '@vouchbox/protocol/grading';
import { UsageError } from '../failures/usage-error.ts';
import { plainText } from './tree.ts';

/** The member of a test that a file sets, keyed by the file's extension. */
const MEMBERS = { '.in': 'stdin', '.out': 'expected', '.args': 'args' } as const;

/**
 * One test for each name, sorted by name. `NAME.args` has one argument per line.
 * @throws UsageError if there is no test, or a file is not plain, not text or too large
 */
export async function readTests(directory: string, compare: Comparison): Promise<readonly GradeTest[]> {
  const tests = new Map<string, { stdin?: string; expected?: string; args?: readonly string[] }>();
  for (const file of await filesOf(directory)) {
    const { name, ext } = parse(file);
    if (!isMember(ext)) continue;
    // The folder is the grader's own, so a link may lead out of it.
    const text = await plainText(join(directory, file));
    const test = tests.get(name) ?? {};
    tests.set(name, { ...test, [MEMBERS[ext]]: ext === '.args' ? linesOf(text) : text });
  }
  if (tests.size === 0) throw new UsageError(`${directory} has no tests: no NAME.in and no NAME.out`);
  return Array.from(tests, ([name, test]) => ({ name, compare, ...test }));
}

function isMember(ending: string): ending is keyof typeof MEMBERS {
  return Object.hasOwn(MEMBERS, ending);
}

async function filesOf(directory: string): Promise<readonly string[]> {
  try {
    return (await readdir(directory)).sort();
  } catch (error) {
    throw new UsageError(`${directory} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
