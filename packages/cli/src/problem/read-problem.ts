/**
 * Reads the problem for a grading: a problem package in Kattis's format, as a directory or an archive, or a plain folder with
 * `NAME.in` and `NAME.out`.
 */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checker } from '@vouchbox/client';
import type { Comparison } from '@vouchbox/protocol/grading';
import { UsageError } from '../failures/usage-error.ts';
import { comparisonOf, DEFAULT_VALIDATOR } from './default-validator.ts';
import { readTests } from './grade-tests.ts';
import { readPrograms } from './package-programs.ts';
import { type PackageSettings, readSettings } from './package-settings.ts';
import { type PackageTest, readPackageTests } from './package-tests.ts';
import type { PackageProgram, Problem } from './problem.ts';
import { openTree, type ProblemTree } from './tree.ts';

/**
 * @param compare how outputs are compared for a plain folder; a package names its own comparison
 * @throws UsageError with one line if the problem cannot be read or graded
 */
export async function readProblem(path: string, compare: Comparison): Promise<Problem> {
  if (!(await isPackage(path))) return plainProblem(path, compare);
  const tree = await openTree(path);
  const settings = await readSettings(tree);
  const { tests, groups, inputFlags, notes } = await readPackageTests(tree, settings);
  const judging = await howJudged(tree, settings, tests);
  const directory = tree.paths.some((file) => file.startsWith('input_format_validators/'))
    ? 'input_format_validators'
    : 'input_validators';
  const validators = await readPrograms(tree, directory);
  return {
    name: settings.name,
    ...judging,
    groups,
    inputValidators: validators.programs,
    inputFlags,
    limits: settings.limits,
    notes: [...settings.notes, ...notes, ...validators.notes],
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
  const tests = (await readTests(path, compare)).map((test) => ({ ...test, isSample: false }));
  return {
    name: null,
    tests,
    groups: [],
    checker: null,
    interactor: null,
    inputValidators: [],
    inputFlags: new Map(),
    limits: {},
    notes: [],
  };
}

/** How tests are judged: either each test by a comparison, or all by one program, which may talk with the tested programs. */
async function howJudged(
  tree: ProblemTree,
  settings: PackageSettings,
  tests: readonly PackageTest[],
): Promise<Pick<Problem, 'tests' | 'checker' | 'interactor'>> {
  if (settings.isCustom) {
    const validator = await customValidator(tree);
    return settings.isInteractive
      ? { tests, checker: null, interactor: validator }
      : { tests, checker: validator, interactor: null };
  }
  const compared = tests.map(({ checkerArgs, ...test }) => {
    return { ...test, compare: comparisonOf(checkerArgs ?? [], test.expected ?? '') };
  });
  const isNeeded = compared.some(({ compare }) => compare === null);
  return isNeeded
    ? { tests, checker: validatorOf(DEFAULT_VALIDATOR), interactor: null }
    : { tests: compared as Problem['tests'], checker: null, interactor: null };
}

/** The validator as a checker or an interactor: both may use a validator's command line and exit codes. */
function validatorOf({ language, code }: PackageProgram): Checker {
  return { language, code, codes: 'kattis' };
}

async function customValidator(tree: ProblemTree): Promise<Checker> {
  const directory = tree.paths.some((path) => path.startsWith('output_validator/'))
    ? 'output_validator'
    : 'output_validators';
  const { programs, notes } = await readPrograms(tree, directory);
  const [program] = programs;
  if (program !== undefined && programs.length === 1) return validatorOf(program);
  throw new UsageError(
    notes[0] ?? `${directory} has ${programs.length} programs, but must have one, which judges outputs`,
  );
}
