/**
 * Checks that a verdict can be what the judge made from a grading's texts. Names, groups, jobs and digests are taken from the
 * grading itself. The document adds only each test's verdict, and what the records of the test's jobs say.
 */
import {
  type BuildRecord,
  type CheckRecord,
  type GroupRecord,
  groupOf,
  groupsOf,
  type JobRecord,
  type RunRecord,
  scoreOf,
  TEST_VERDICTS_2,
  type TestResult2,
  type TestVerdict2,
  VERDICT_SCHEMA_2,
  type Verdict2,
} from '@vouchbox/protocol/grading-steps';
import { canonicalJson } from './canonical-json.ts';
import type { GradingSubmission, GradingTest } from './contract-types.ts';
import type { Sha256 } from './digest.ts';
import { TransportFailure } from './failure.ts';
import { parseJson } from './parse-json.ts';

/** A test in a verdict. Its job also appears under the names that version 1 of verdicts used. */
export interface GradedTest extends TestResult2 {
  /** The last job that ran the test; null if no job did. */
  readonly job_id: string | null;
  readonly receipt_sha256: string | null;
  readonly checker: CheckRecord | null;
}

export interface Verdict extends Omit<Verdict2, 'tests'> {
  readonly tests: readonly GradedTest[];
}

/** The jobs of one program's grading. */
export interface GradingJobs {
  /** The last job of each test, keyed by the test's name. */
  readonly tests: ReadonlyMap<string, string>;
  /** All jobs, in the order in which they ended. */
  readonly ids: ReadonlySet<string>;
}

/** What the client knows about one program's grading. `sent` has all texts, even those that were uploaded. */
export interface KnownGrading {
  readonly sent: GradingSubmission;
  readonly jobs: GradingJobs;
}

/** @throws TransportFailure `undecodable` if the judge cannot have made this document from this grading */
export async function verdictOf(bytes: Uint8Array, known: KnownGrading, sha256: Sha256): Promise<Verdict> {
  const said = parseJson(bytes) as Partial<Verdict2> | null;
  const { tests, program } = said ?? {};
  if (!Array.isArray(tests) || tests.length !== known.sent.tests.length)
    refuse('does not have exactly one line for each test');
  const heads = known.sent.tests.map(({ name, group, points }) => ({ name, group, points }));
  const groups = groupsOf({ tests: heads, groups: known.sent.groups, stop: known.sent.stop });
  const digest = async (text: string) => await sha256(new TextEncoder().encode(text));
  const told = tests as readonly (Partial<TestResult2> | null)[];
  const lines = known.sent.tests.map((test, at) => lineOf(test, told[at] ?? {}, { known, digest, groups }));
  const all = await Promise.all(lines);
  const rows = all.map(({ group, points_max, verdict, points }) => {
    // The groups determine which tests were skipped, so the skipped tests are determined again here.
    const won = { verdict: verdict === 'skipped' ? ('not_run' as const) : verdict, points };
    return { group, points: points_max, won };
  });
  const score = scoreOf(groups, rows);
  const [sent] = known.sent.programs;
  const verdict: Verdict2 = {
    schema: VERDICT_SCHEMA_2,
    program: {
      language: String(sent?.language),
      code_sha256: program?.code_sha256 === null ? null : await digest(sent?.code as string),
      build: buildOf(program?.build ?? null, known.jobs),
    },
    accepted: score.accepted,
    points: score.points,
    points_max: score.points_max,
    groups: score.groups,
    tests: all.map((line, at) => ({ ...line, ...score.tests[at] })),
  };
  if (canonicalJson(said) !== canonicalJson(verdict)) refuse('is not about this grading');
  return { ...verdict, tests: verdict.tests.map(namedAsBefore) };
}

function namedAsBefore(line: TestResult2): GradedTest {
  const { run, check } = line;
  return { ...line, job_id: run?.job_id ?? null, receipt_sha256: run?.receipt_sha256 ?? null, checker: check };
}

interface LineOptions {
  readonly known: KnownGrading;
  readonly groups: readonly GroupRecord[];
  readonly digest: (text: string) => Promise<string>;
}

/** A test's line. Values that only the records of the test's jobs can show are taken from the document. */
async function lineOf(
  test: GradingTest,
  said: Partial<TestResult2>,
  { known: { sent, jobs }, groups, digest }: LineOptions,
): Promise<TestResult2> {
  const { name, compare = 'lines', points = 1 } = test;
  const { run = null, starved = null, check = null, validations = [] } = said;
  const { checker, interactor = checker, validators = [] } = sent;
  const isLast = run === null || run.job_id === jobs.tests.get(name);
  const isWhole = validations.length === 0 || validations.length === validators.length;
  if (!isLast || !isWhole) refuse('names jobs that did not run');
  return {
    name,
    group: groupOf({ name, group: test.group }, groups),
    compare,
    run: run && runOf(run, jobs),
    starved: starved && runOf(starved, jobs),
    // The program that compares long texts uses the exit codes of Kattis's validators.
    check: check && checkOf(check, interactor === undefined ? 'kattis' : (interactor.codes ?? 'testlib'), jobs),
    validations: validations.map((one, at) => checkOf(one, validators[at]?.codes ?? 'testlib', jobs)),
    stdin_sha256: said.stdin_sha256 === null ? null : await digest((test.stdin as string) ?? ''),
    ...wonOf(said, points),
    points_max: points,
    stdout_sha256: hexOrNull(said.stdout_sha256),
    expected_sha256: said.expected_sha256 === null ? null : await digest((test.expected as string) ?? ''),
  };
}

/** A test's verdict and points. Refuses points that a partly solved test cannot have. */
function wonOf(
  { verdict: said, points = 0 }: Partial<TestResult2>,
  most: number,
): Pick<TestResult2, 'verdict' | 'points'> {
  const verdict: TestVerdict2 = oneOf(TEST_VERDICTS_2, said) ?? refuse('has a line without a verdict');
  if (verdict === 'partial')
    return points > 0 && points < most ? { verdict, points } : refuse('has impossible points for a partial test');
  return { verdict, points: verdict === 'accepted' ? most : 0 };
}

function jobOf({ job_id, receipt_sha256, terminal_reason, exit_code }: JobRecord, { ids }: GradingJobs): JobRecord {
  if (!ids.has(job_id)) refuse('names a job that did not run');
  const reason = terminal_reason === null ? null : String(terminal_reason);
  const receipt = hexOrNull(receipt_sha256) ?? refuse('names no receipt');
  return { job_id, receipt_sha256: receipt, terminal_reason: reason, exit_code: numberOrNull(exit_code) };
}

const COMPILERS = ['error', 'limit'] as const;
const POINTS = ['points', 'part'] as const;

function buildOf(said: BuildRecord | null, jobs: GradingJobs): BuildRecord | null {
  return said && { ...jobOf(said, jobs), compiler: oneOf(COMPILERS, said.compiler) };
}

function runOf(said: RunRecord, jobs: GradingJobs): RunRecord {
  return {
    ...jobOf(said, jobs),
    compiler: oneOf(COMPILERS, said.compiler),
    cpu_ms: numberOrNull(said.cpu_ms),
    wall_ms: numberOrNull(said.wall_ms),
    memory_peak_bytes: numberOrNull(said.memory_peak_bytes),
    account: oneOf(['cell', 'guest'], said.account),
  };
}

function checkOf(record: CheckRecord, codes: CheckRecord['codes'], jobs: GradingJobs): CheckRecord {
  const { said, code_sha256 } = record;
  const points = said && {
    kind: oneOf(POINTS, said.kind) ?? refuse('has other points'),
    text: `${said.text}`,
  };
  return { ...jobOf(record, jobs), code_sha256: hexOrNull(code_sha256), codes, said: points };
}

function oneOf<Word>(words: readonly Word[], said: unknown): Word | null {
  return words.find((word) => word === said) ?? null;
}

function numberOrNull(said: unknown): number | null {
  return typeof said === 'number' ? said : null;
}

function hexOrNull(said: unknown): string | null {
  return typeof said === 'string' && /^[0-9a-f]{64}$/.test(said) ? said : null;
}

function refuse(why: string): never {
  throw new TransportFailure('undecodable', `the verdict ${why}`);
}
