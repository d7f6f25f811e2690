/**
 * The parts of a grading, and the check that no part is malformed or larger than a job can take. All parts are checked before
 * anything is sent, so that no grading ends half-way for a reason that the caller could have known.
 */
import { planProblem } from '@vouchbox/protocol/grading-steps';
import type { GradingSubmission, JobSubmission } from './contract-types.ts';
import type { ProgramOptions } from './submission.ts';

/** One test: the program's input, and how its output is judged. */
export interface GradeTest extends Pick<ProgramOptions, 'stdin' | 'args' | 'files' | 'env'> {
  /** A name that no other test in the grading has. */
  readonly name: string;
  /** The program's expected output. With no expected output and no checker, only the way in which the program ends counts. */
  readonly expected?: string | undefined;
  /**
   * `lines` (the default) ignores white space at the end of each line and of the whole output, `words` ignores all white
   * space, and `floats` also ignores differences between numbers within a tolerance.
   */
  readonly compare?: GradingSubmission['tests'][number]['compare'] | undefined;
  /** The points for an accepted test. The default is 1. */
  readonly points?: number | undefined;
  /** The name of the test's group, if there are groups. */
  readonly group?: string | undefined;
  /** The checker's arguments for this test. They follow the arguments for all tests. */
  readonly checkerArgs?: readonly string[] | undefined;
}

/**
 * A program that judges an output. It finds `input/stdin`, `input/expected` and `input/output`, and its arguments name these
 * files. With testlib's codes, the default, it exits with 0 to accept and with 1 to refuse. With Kattis's codes, it reads the
 * output from stdin, and exits with 42 to accept and with 43 to refuse.
 */
export interface Checker
  extends Pick<NonNullable<GradingSubmission['checker']>, 'codes' | 'args' | 'limits'>,
    Pick<ProgramOptions, 'files' | 'env' | 'runtime'> {
  readonly language: string;
  readonly code: string;
}

/** Tests that count together. The contract defines the members of this type. */
export type GradeGroup = NonNullable<GradingSubmission['groups']>[number];

/** The tests and judges of a grading. */
export interface GradeTests {
  readonly tests: readonly GradeTest[];
  readonly checker?: Checker | undefined;
  /**
   * A program that talks to the graded program in each test and judges it instead of a checker, with a checker's exit codes. Its
   * arguments name `input/stdin`, a file for its notes, and `input/expected`. A submission's own `interactor` replaces this one.
   */
  readonly interactor?: Checker | undefined;
  /** Programs that read each test's input and accept it with a checker's exit codes. */
  readonly validators?: readonly Checker[] | undefined;
  /** Each group has at least one test, and each test is in one group. Without groups, the points of all tests are added up. */
  readonly groups?: readonly GradeGroup[] | undefined;
  /** If there are no groups: whether the first test that wins no points ends the grading. */
  readonly stop?: boolean | undefined;
}

const MIB = 1024 * 1024;

/**
 * The contract's bounds for gradings, under the contract's names. They are repeated here, not imported: an import would add to
 * what a page with a client has to load.
 */
export const BOUNDS = {
  argsMax: 64,
  blobBytesMax: 64 * MIB,
  codeBytesMax: MIB,
  fileBytesMax: 2 * MIB,
  filesMax: 32,
  filesTotalBytesMax: 4 * MIB,
  wordBytesMax: 4096,
  wordsTotalBytesMax: 32 * 1024,
} as const;

/** The grading cannot be made as it was requested. No job was sent. */
export class GradingRefusal extends TypeError {
  override readonly name = 'GradingRefusal';
}

/** @throws GradingRefusal that names the test and the bound */
export function checkGrading(
  program: string | JobSubmission,
  { tests, checker, validators = [], groups, ...options }: GradeTests,
): void {
  const interactor = options.interactor ?? interactorOf(program);
  if (typeof program !== 'string' && program.libraries !== undefined)
    throw new GradingRefusal('a program of a grading takes no libraries: name a runtime pack that has them');
  const heads = tests.map(({ name, group, points, compare, expected: text = '' }) => {
    return { name, group, points, compare, expected: { text } };
  });
  const flaw = planProblem({ tests: heads, groups });
  if (flaw !== null) throw new GradingRefusal(flaw[1]);
  if (checker !== undefined && interactor !== undefined)
    throw new GradingRefusal('the interactor judges, so a checker must be left out');
  checkText('the program', typeof program === 'string' ? program : program.code, BOUNDS.codeBytesMax);
  if (checker !== undefined) checkText('the checker', checker.code, BOUNDS.codeBytesMax);
  if (interactor !== undefined) checkText('the interactor', interactor.code, BOUNDS.codeBytesMax);
  for (const { code } of validators) checkText('a validator', code, BOUNDS.codeBytesMax);
  for (const test of tests) {
    const problem = testProblem(test);
    if (problem !== null) throw new GradingRefusal(`test ${test.name}: ${problem}`);
  }
}

/** The interactor that is part of a submission. */
export function interactorOf(program: string | JobSubmission): JobSubmission['interactor'] {
  return typeof program === 'string' ? undefined : program.interactor;
}

function checkText(what: string, text: string, bytesMax: number): void {
  if (text === '') throw new GradingRefusal(`${what} is empty`);
  if (sizeOf(text) > bytesMax) throw new GradingRefusal(`${what} ${tooMany(sizeOf(text), bytesMax)} are allowed`);
}

/** The fault in a program's input or expected output. */
function testProblem({ stdin = '', expected = '', args = [], files = {} }: GradeTest) {
  for (const [what, text] of Object.entries({ 'its input': stdin, 'what is expected': expected })) {
    const bytes = sizeOf(text);
    if (bytes > BOUNDS.blobBytesMax) return `${what} ${tooMany(bytes, BOUNDS.blobBytesMax)} are allowed`;
  }
  return argumentsProblem(args) ?? filesProblem(files);
}

function argumentsProblem(words: readonly string[]): string | null {
  if (words.length > BOUNDS.argsMax) return `it has ${words.length} arguments; at most ${BOUNDS.argsMax} are allowed`;
  const longest = Math.max(0, ...words.map(sizeOf));
  if (longest > BOUNDS.wordBytesMax) return `an argument ${tooMany(longest, BOUNDS.wordBytesMax)} are allowed`;
  const total = words.reduce((sum, word) => sum + sizeOf(word), 0);
  if (total > BOUNDS.wordsTotalBytesMax)
    return `its arguments together ${tooMany(total, BOUNDS.wordsTotalBytesMax, 'have')} are allowed`;
  return words.some((word) => word.includes('\0')) ? 'an argument contains a NUL, which would end it' : null;
}

/** The fault in a test's files. Uploaded files are not measured here, because the service measured them when they arrived. */
function filesProblem(files: NonNullable<GradeTest['files']>): string | null {
  const entries = Object.entries(files);
  if (entries.length > BOUNDS.filesMax) return `it has ${entries.length} files; at most ${BOUNDS.filesMax} are allowed`;
  let total = 0;
  for (const [path, content] of entries) {
    const bytes = contentSize(content);
    if (bytes > BOUNDS.fileBytesMax)
      return `${path} ${tooMany(bytes, BOUNDS.fileBytesMax)} can be sent with a job; upload it first`;
    total += bytes;
  }
  if (total <= BOUNDS.filesTotalBytesMax) return null;
  return `its files together ${tooMany(total, BOUNDS.filesTotalBytesMax, 'have')} can be sent with a job; upload them first`;
}

function contentSize(content: NonNullable<GradeTest['files']>[string]): number {
  if (typeof content === 'string') return sizeOf(content);
  if (content instanceof Uint8Array) return content.byteLength;
  return content instanceof Blob ? content.size : 0;
}

export function sizeOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

function tooMany(bytes: number, bytesMax: number, verb: 'has' | 'have' = 'has'): string {
  return `${verb} ${bytes} bytes; at most ${bytesMax}`;
}
