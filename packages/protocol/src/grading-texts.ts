/** The texts of a test: which texts the judge itself compares, and where the others are. */
import { type JobEnd, type JobText, STDOUT_FILE } from './grading-job.ts';
import type { PlannedTest } from './grading-plan.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * How many bytes the two texts of a test may have together in the judge's one file. With fewer tests, each test has
 * more room. A byte of text may take six bytes of JSON, and the whole file has at most 64 MiB.
 */
export function inlineRoom(tests: number): number {
  return Math.max(8 * KIB, Math.min(MIB, Math.floor((8 * MIB) / tests)));
}

/** Sizes of the texts in tests and ends. They are kept because a grading is examined again after each job that ends. */
const sizes = new WeakMap<object, number>();

function bytesOf(of: PlannedTest | JobEnd, text: string): number {
  const bytes = sizes.get(of) ?? new TextEncoder().encode(text).length;
  sizes.set(of, bytes);
  return bytes;
}

/** Whether the judge itself can compare: both texts must be known here and small. Bytes that are not text count as unknown. */
export function isInline(test: PlannedTest, end: JobEnd, room: number): boolean {
  const { expected } = test;
  if (expected === undefined || !('text' in expected)) return false;
  if (end.stdout === null || bytesOf(end, end.stdout) + bytesOf(test, expected.text) > room) return false;
  const isExact = !end.stdout.includes('\ufffd') || keptOutput(end) === undefined;
  return !end.truncated && isExact;
}

/** The expected output, if the judge gets it as a text. */
export function inlineExpected(test: PlannedTest, room: number): string | null {
  const { expected } = test;
  return expected !== undefined && 'text' in expected && bytesOf(test, expected.text) <= room ? expected.text : null;
}

function keptOutput(end: JobEnd) {
  return end.outputs.find(({ path }) => path === STDOUT_FILE);
}

/** Whether a part of the output is unknown: the record was cut, and the whole output was not kept either. */
export function isCut(end: JobEnd): boolean {
  return (end.truncated || end.stdout === null) && keptOutput(end) === undefined;
}

export function outputOf(end: JobEnd): JobText {
  if (keptOutput(end) === undefined) return { text: end.stdout ?? '' };
  return { from: { job_id: end.job_id, path: STDOUT_FILE } };
}
