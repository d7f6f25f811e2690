/**
 * The verdict of a grading, as far as it can be what the judge made of what was sent. Names, points, jobs and digests are those
 * that this grading knows: of the document only the word of each test and digests of what the jobs made are taken.
 */
import { TEST_VERDICTS, type TestResult, VERDICT_SCHEMA, type Verdict } from '@vouchbox/protocol/grading';
import { canonicalJson } from './canonical-json.ts';
import type { GradingSubmission, GradingTest } from './contract-types.ts';
import type { Sha256 } from './digest.ts';
import { TransportFailure } from './failure.ts';
import { parseJson } from './parse-json.ts';

/** Sums of points may differ in their last digits: Python adds otherwise than JavaScript. */
const pointsSlack = 1e-6;

/** The jobs of a grading of one program. */
export interface GradingJobs {
  /** The last job of each test, by its name. */
  readonly tests: ReadonlyMap<string, string>;
  /** All others. */
  readonly others: ReadonlySet<string>;
}

/** What is known of a grading of one program. `sent` has its texts, whatever was uploaded of them. */
export interface KnownGrading {
  readonly sent: GradingSubmission;
  readonly jobs: GradingJobs;
}

/** @throws TransportFailure `undecodable` for a document that the judge cannot have made of this grading */
export async function verdictOf(bytes: Uint8Array, known: KnownGrading, sha256: Sha256): Promise<Verdict> {
  const said = parseJson(bytes) as Partial<Verdict> | null;
  const { tests, points, points_max } = said ?? {};
  if (!Array.isArray(tests) || tests.length !== known.sent.tests.length) refuse('has not one line for each test');
  const digest = async (text: string) => await sha256(new TextEncoder().encode(text));
  const told = tests as readonly (Partial<TestResult> | null)[];
  const lines = known.sent.tests.map((test, at) => lineOf(test, told[at] ?? null, { known, digest }));
  const all = await Promise.all(lines);
  const [program] = known.sent.programs;
  const made = {
    schema: VERDICT_SCHEMA,
    program: { language: String(program?.language), code_sha256: await digest(program?.code as string) },
    accepted: all.every(({ verdict }) => verdict === 'accepted'),
    points: all.reduce((sum, line) => sum + line.points, 0),
    points_max: all.reduce((sum, line) => sum + line.points_max, 0),
    tests: all,
  } as const;
  const isClose = near(points, made.points) && near(points_max, made.points_max);
  const verdict = { ...made, points: Number(points), points_max: Number(points_max) };
  if (isClose && canonicalJson(said) === canonicalJson(verdict)) return verdict;
  return refuse('is not about this grading');
}

interface LineOptions {
  readonly known: KnownGrading;
  readonly digest: (text: string) => Promise<string>;
}

/** The line of a test, with what only the jobs can say taken from the document. */
async function lineOf(
  { name, expected, points = 1 }: GradingTest,
  said: Partial<TestResult> | null,
  { known, digest }: LineOptions,
): Promise<TestResult> {
  const verdict = TEST_VERDICTS.find((word) => word === said?.verdict) ?? refuse('has a line without a verdict');
  return {
    name,
    verdict,
    points: verdict === 'accepted' ? points : 0,
    points_max: points,
    job_id: known.jobs.tests.get(name) ?? refuse('is of a test that did not run'),
    receipt_sha256: hexOf(said?.receipt_sha256),
    stdout_sha256: hexOf(said?.stdout_sha256),
    expected_sha256: expected === undefined ? null : await digest(expected as string),
    checker: await checkerOf(said?.checker ?? null, { known, digest }),
  };
}

async function checkerOf(said: TestResult['checker'], { known, digest }: LineOptions): Promise<TestResult['checker']> {
  if (said === null) return null;
  const { checker } = known.sent;
  if (checker === undefined || !known.jobs.others.has(said.job_id)) refuse('has a checker that did not run');
  const { job_id, receipt_sha256, terminal_reason, exit_code } = said;
  const code_sha256 = await digest(checker?.code as string);
  return { job_id, receipt_sha256: hexOf(receipt_sha256), code_sha256, terminal_reason, exit_code };
}

function hexOf(said: unknown): string {
  return typeof said === 'string' && /^[0-9a-f]{64}$/.test(said) ? said : refuse('has a digest that is none');
}

function near(said: unknown, made: number): boolean {
  return typeof said === 'number' && Math.abs(said - made) <= pointsSlack * Math.max(1, Math.abs(made));
}

function refuse(why: string): never {
  throw new TransportFailure('undecodable', `the verdict ${why}`);
}
