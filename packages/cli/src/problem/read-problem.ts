/**
 * Reads a problem to grade by: a problem package in the format of Kattis, as a directory or an archive, or a plain folder of
 * `NAME.in` and `NAME.out`.
 */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checker } from '@vouchbox/client';
import type { Comparison } from '@vouchbox/protocol/grading';
import { UsageError } from '../failures/usage-error.ts';
import { readTests } from '../grade-tests.ts';
import { comparisonOf, DEFAULT_VALIDATOR } from './default-validator.ts';
import { readPrograms } from './package-programs.ts';
import { type PackageSettings, readSettings } from './package-settings.ts';
import { readPackageTests } from './package-tests.ts';
import type { PackageProgram, Problem, ProblemTest } from './problem.ts';
import { openTree, type ProblemTree } from './tree.ts';
import { checkerOf } from './validator-checker.ts';

/**
 * @param compare how outputs of a plain folder are compared; a package says it itself
 * @throws UsageError in one line for what cannot be read or graded
 */
export async function readProblem(path: string, compare: Comparison): Promise<Problem> {
  if (!(await isPackage(path))) return plainProblem(path, compare);
  const tree = await openTree(path);
  const settings = await readSettings(tree);
  const { tests, groups, inputFlags } = await readPackageTests(tree, settings);
  const judging = await howJudged(tree, settings, tests);
  const directory = tree.paths.some((file) => file.startsWith('input_format_validators/'))
    ? 'input_format_validators'
    : 'input_validators';
  const validators = await readPrograms(tree, directory);
  return {
    name: settings.name,
    tests: tests.map((test) => ({ ...test, ...(judging.compare !== null && { compare: judging.compare }) })),
    groups,
    checker: judging.checker,
    inputValidators: validators.programs,
    inputFlags,
    limits: settings.limits,
    notes: [...settings.notes, ...validators.notes],
  };
}

async function isPackage(path: string): Promise<boolean> {
  if (/\.(kpp|zip)$/.test(path)) return true;
  return await access(join(path, 'problem.yaml')).then(
    () => true,
    () => false,
  );
}

async function plainProblem(path: string, compare: Comparison): Promise<Problem> {
  const tests = (await readTests(path, compare)).map((test) => ({
    ...test,
    group: null,
    isSample: false,
    validatorFlags: [],
  }));
  return {
    name: null,
    tests,
    groups: [],
    checker: null,
    inputValidators: [],
    inputFlags: new Map(),
    limits: {},
    notes: [],
  };
}

interface Judging {
  readonly compare: 'words' | 'exact' | null;
  readonly checker: Checker | null;
}

async function howJudged(
  tree: ProblemTree,
  settings: PackageSettings,
  tests: readonly ProblemTest[],
): Promise<Judging> {
  const flags = commonFlags(tests);
  if (settings.isCustom) return { compare: null, checker: checkerOf(await customValidator(tree), flags) };
  const compare = comparisonOf(
    flags,
    tests.map(({ expected = '' }) => expected),
  );
  return compare === null ? { compare, checker: checkerOf(DEFAULT_VALIDATOR, flags) } : { compare, checker: null };
}

/** A grading has one checker. */
function commonFlags(tests: readonly ProblemTest[]): readonly string[] {
  const flags = tests[0]?.validatorFlags ?? [];
  const other = tests.find(({ validatorFlags }) => validatorFlags.join('\0') !== flags.join('\0'));
  if (other === undefined) return flags;
  throw new UsageError(
    `${other.name} has other flags for its output validator than ${tests[0]?.name}: all must have the same`,
  );
}

async function customValidator(tree: ProblemTree): Promise<PackageProgram> {
  const directory = tree.paths.some((path) => path.startsWith('output_validator/'))
    ? 'output_validator'
    : 'output_validators';
  const { programs, notes } = await readPrograms(tree, directory);
  const [program] = programs;
  if (program !== undefined && programs.length === 1) return program;
  throw new UsageError(notes[0] ?? `${directory} has ${programs.length} programs, and one judges outputs here`);
}
