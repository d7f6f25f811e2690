/**
 * What a grading is made of, and what of it is malformed or larger than a job, a record or a judge can take. All of it
 * is checked before the first job is sent, so that no grading ends half-way by what its caller could have been told.
 */
import { COMPARISONS, type Comparison } from '@vouchbox/protocol/grading';
import type { JobSubmission } from './contract-types.ts';
import type { ProgramOptions } from './submission.ts';

/** One test: what the program is given, and how its output is judged. */
export interface GradeTest extends Pick<ProgramOptions, 'stdin' | 'args' | 'files'> {
  /** A name that no other test of the grading has. */
  readonly name: string;
  /** What the program should print; without it and without a checker, its end alone counts. */
  readonly expected?: string | undefined;
  /** `lines` (the default) ignores white space at the ends of lines and of the whole, `words` all but the words. */
  readonly compare?: Comparison | undefined;
  /** What an accepted test counts. Default 1. */
  readonly points?: number | undefined;
}

/**
 * A program that judges an output. It finds `input/stdin`, `input/expected` and `input/output`, accepts by ending with 0
 * and refuses by ending with 1.
 */
export interface Checker {
  readonly language: string;
  readonly code: string;
}

const MIB = 1024 * 1024;

/**
 * The bounds of the contract that a grading meets, by their names there. They are repeated here, because every page with a
 * client would load what this file imported.
 */
export const BOUNDS = {
  argsMax: 64,
  blobBytesMax: 64 * MIB,
  codeBytesMax: MIB,
  fileBytesMax: 2 * MIB,
  filesMax: 32,
  filesTotalBytesMax: 4 * MIB,
  stdinBytesMax: MIB,
  streamBytesMax: MIB,
  streamRecordsMax: 10_000,
  wordBytesMax: 4096,
  wordsTotalBytesMax: 32 * 1024,
} as const;

/** A grading that cannot be made. No job was sent. */
export class GradingRefusal extends TypeError {
  override readonly name = 'GradingRefusal';
}

/** @throws GradingRefusal that names the test and the bound */
export function checkGrading(
  program: string | JobSubmission,
  { tests, checker }: { readonly tests: readonly GradeTest[]; readonly checker?: Checker | undefined },
): void {
  if (tests.length === 0) throw new GradingRefusal('a grading needs at least one test');
  if (typeof program !== 'string' && program.interactor !== undefined)
    throw new GradingRefusal('the program has an interactor: a grading runs it alone');
  checkText('the program', typeof program === 'string' ? program : program.code, BOUNDS.codeBytesMax);
  if (checker !== undefined) checkText('the checker', checker.code, BOUNDS.codeBytesMax);
  const names = new Set<string>();
  for (const test of tests) {
    if (names.has(test.name)) throw new GradingRefusal(`two tests have the same name: ${test.name}`);
    names.add(test.name);
    const problem = testProblem(test) ?? (checker === undefined ? outputProblem(test) : checkedProblem(test));
    if (problem !== null) throw new GradingRefusal(`test ${test.name}: ${problem}`);
  }
  const needed = tests.reduce((sum, test) => sum + judgedBytes(test, checker !== undefined), 0);
  if (needed > BOUNDS.blobBytesMax) {
    const what = 'what is expected of all tests, and outputs that fit it,';
    throw new GradingRefusal(`${what} ${tooMany(needed, BOUNDS.blobBytesMax)} can be judged together`);
  }
}

function checkText(what: string, text: string, bytesMax: number): void {
  if (text === '') throw new GradingRefusal(`${what} is empty`);
  if (sizeOf(text) > bytesMax) throw new GradingRefusal(`${what} ${tooMany(sizeOf(text), bytesMax)} are allowed`);
}

/** What is wrong with what the program is given, or with how it is judged. */
function testProblem({ name, stdin = '', args = [], files = {}, expected = '', compare, points = 1 }: GradeTest) {
  if (LONE_SURROGATE.test(name + expected)) return 'its name or what it expects has no UTF-8 form';
  if (sizeOf(stdin) > BOUNDS.stdinBytesMax)
    return `its input ${tooMany(sizeOf(stdin), BOUNDS.stdinBytesMax)} are allowed`;
  if (!(Number.isFinite(points) && points >= 0)) return 'its points must be a number, and not negative';
  if (compare !== undefined && !COMPARISONS.includes(compare)) return `compare is one of ${COMPARISONS.join(', ')}`;
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

/** Files that were uploaded were measured then. */
function filesProblem(files: NonNullable<GradeTest['files']>): string | null {
  const entries = Object.entries(files);
  if (entries.length > BOUNDS.filesMax) return `it has ${entries.length} files; at most ${BOUNDS.filesMax} are allowed`;
  let total = 0;
  for (const [path, content] of entries) {
    const bytes = contentSize(content);
    if (bytes > BOUNDS.fileBytesMax)
      return `${path} ${tooMany(bytes, BOUNDS.fileBytesMax)} are sent with a job; upload it before`;
    total += bytes;
  }
  if (total <= BOUNDS.filesTotalBytesMax) return null;
  return `its files together ${tooMany(total, BOUNDS.filesTotalBytesMax, 'have')} are sent with a job; upload them before`;
}

function contentSize(content: NonNullable<GradeTest['files']>[string]): number {
  if (typeof content === 'string') return sizeOf(content);
  if (content instanceof Uint8Array) return content.byteLength;
  return content instanceof Blob ? content.size : 0;
}

/** No program can pass a test whose output is more than is recorded. */
function outputProblem({ expected = '', compare = 'lines' }: GradeTest): string | null {
  const least = leastOutput(expected, compare);
  if (sizeOf(least) > BOUNDS.streamBytesMax) {
    return `what is expected ${tooMany(sizeOf(least), BOUNDS.streamBytesMax)} of an output are recorded`;
  }
  const lines = least.split('\n').length - (least.endsWith('\n') ? 1 : 0);
  if (lines <= BOUNDS.streamRecordsMax) return null;
  return `what is expected has ${lines} lines; at most ${BOUNDS.streamRecordsMax} of an output are recorded`;
}

function checkedProblem({ expected = '' }: GradeTest): string | null {
  const bytes = sizeOf(expected);
  return bytes > BOUNDS.fileBytesMax
    ? `what is expected ${tooMany(bytes, BOUNDS.fileBytesMax)} can be given to a checker`
    : null;
}

/** The shortest output that passes, or one that is shorter still. */
function leastOutput(expected: string, compare: Comparison): string {
  if (compare === 'exact') return expected;
  if (compare === 'words') return expected.trim().split(/\s+/).join(' ');
  return expected
    .trimEnd()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** The least that a judge is given of a test, which is JSON. */
function judgedBytes({ expected = '', compare = 'lines' }: GradeTest, isChecked: boolean): number {
  const output = isChecked ? '' : leastOutput(expected, compare);
  return sizeOf(JSON.stringify(expected)) + sizeOf(JSON.stringify(output));
}

const LONE_SURROGATE = /\p{Surrogate}/u;

function sizeOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

function tooMany(bytes: number, bytesMax: number, verb: 'has' | 'have' = 'has'): string {
  return `${verb} ${bytes} bytes; at most ${bytesMax}`;
}
