/**
 * Checks the verdict of a grading: that a judge known here wrote it, that the service signed what the judge wrote, and that every
 * line follows from the signed record of the test that the line names. Uses nothing that only Node has. docs/GRADING.md.
 */
import { isJsonObject, jsonObjectIn, type StoredReceipt, sha256Hex } from '@vouchbox/evidence';
import {
  type CheckerRun,
  isLimitOfCompiler,
  JUDGE,
  type TestResult,
  type TestVerdict,
  VERDICT_FILE,
  VERDICT_SCHEMA,
  type Verdict,
} from '@vouchbox/protocol/grading';
import { JUDGE_2, VERDICT_SCHEMA_2, type Verdict2 } from '@vouchbox/protocol/grading-steps';
import { type Attested, artifactDigest, attested, type VerdictExpectation } from './attested-job.ts';
import { EXIT } from './exit-code.ts';
import type { ExportFiles } from './exported-job.ts';
import { type Check, checked, exitCodeOf, failed, passed, type Report, refusal } from './report.ts';
import { isVerdict2, verdict2Checks } from './verify-verdict-2.ts';

/** A verdict with the exports of all jobs that it depends on. */
export interface VerdictFiles {
  /** The exact bytes of the verdict. */
  readonly verdict: Uint8Array<ArrayBuffer>;
  readonly judge: ExportFiles;
  /** The exports of the tests and of the checkers, by job id. */
  readonly jobs: ReadonlyMap<string, ExportFiles>;
}

export type { VerdictExpectation };

/** What a good report on a verdict shows, and its limits. */
const NOTICE =
  'This shows that the program of this digest was run once for each test, in a job of its own, and that the verdict ' +
  'follows from what those jobs did and from the expected outputs with these digests. It does not show the tests themselves.';

/** Where a verdict's directory has the verdict, the judge's export and the exports of all other jobs. */
export const VERDICT_DIRECTORY = { verdict: 'verdict.json', judge: 'judge', jobs: 'jobs' } as const;

/** The form of each known judge's verdicts, keyed by the digest of the judge's program. */
const JUDGES: ReadonlyMap<unknown, string> = new Map([
  [sha256Hex(new TextEncoder().encode(JUDGE)), VERDICT_SCHEMA],
  [sha256Hex(new TextEncoder().encode(JUDGE_2)), VERDICT_SCHEMA_2],
]);

export async function verifyVerdict(given: VerdictFiles, expected: VerdictExpectation): Promise<Report> {
  const judge = await attested('judge', given.judge, expected);
  if ('isGood' in judge) return refusal(EXIT.record, [judge]);
  const checks = [passed('judge', judge.detail), judgeCheck(judge), verdictFileCheck(judge, given.verdict)];
  const verdict = parseVerdict(given.verdict, JUDGES.get(judge.receipt['code_sha256']));
  if (verdict === null || checks.some(({ isGood }) => !isGood)) {
    return refusal(EXIT.record, [
      ...checks,
      ...(verdict === null ? [failed('verdict', 'it is not a verdict of this form')] : []),
    ]);
  }
  checks.push(...(await linesOf(verdict, given, expected)));
  const exitCode = exitCodeOf(checks, EXIT.record);
  return { exitCode, checks, facts: factsOf(verdict), notice: exitCode === EXIT.good ? NOTICE : null };
}

async function linesOf(
  verdict: Verdict | Verdict2,
  given: VerdictFiles,
  expected: VerdictExpectation,
): Promise<readonly Check[]> {
  if (verdict.schema === VERDICT_SCHEMA_2) return await verdict2Checks({ verdict, jobs: given.jobs, expected });
  const checks: Check[] = [];
  for (const test of verdict.tests) checks.push(await testCheck(test, { verdict, given, expected }));
  return [...checks, totalsCheck(verdict)];
}

function judgeCheck({ receipt }: Attested): Check {
  const code = receipt['code_sha256'];
  const isKnown = JUDGES.has(code) && receipt['status'] === 'succeeded';
  return checked('judge_program', isKnown ? null : 'its judge is not the known one', `sha256:${String(code)}`);
}

function verdictFileCheck({ receipt }: Attested, bytes: Uint8Array<ArrayBuffer>): Check {
  const sha256 = sha256Hex(bytes);
  const isListed = artifactDigest(receipt['output_artifacts'], VERDICT_FILE) === sha256;
  return checked(
    'verdict_file',
    isListed ? null : "its digest is not the one in the judge's receipt",
    `sha256:${sha256}`,
  );
}

/** Reads a verdict in the known judge's form. In version 2, the parts that the judge copies from its input are checked too. */
function parseVerdict(bytes: Uint8Array<ArrayBuffer>, known: string | undefined): Verdict | Verdict2 | null {
  const stated = jsonObjectIn(bytes);
  if (stated === null || stated['schema'] !== known) return null;
  const { schema, tests } = stated;
  if (!Array.isArray(tests) || tests.length === 0) return null;
  return schema === VERDICT_SCHEMA || isVerdict2(stated) ? (stated as unknown as Verdict | Verdict2) : null;
}

interface Known {
  readonly verdict: Verdict;
  readonly given: VerdictFiles;
  readonly expected: VerdictExpectation;
}

async function testCheck(test: TestResult, { verdict, given, expected }: Known): Promise<Check> {
  const name = `test ${test.name}`;
  const run = await attested(name, given.jobs.get(test.job_id), expected, test.job_id);
  if ('isGood' in run) return run;
  const problem = testProblem(test, run, verdict.program.code_sha256);
  if (problem !== null) return failed(name, problem);
  if (test.checker === null) return passed(name, `${test.verdict}; ${run.detail}`);
  const checker = await attested(name, given.jobs.get(test.checker.job_id), expected, test.checker.job_id);
  if ('isGood' in checker) return checker;
  return checked(name, checkerProblem(test, test.checker, checker), `${test.verdict}; ${run.detail}, and its checker`);
}

function testProblem(test: TestResult, run: Attested, code: string | null): string | null {
  const { receipt, stdoutSha256 } = run;
  if (receipt['receipt_sha256'] !== test.receipt_sha256) return 'the verdict names another receipt';
  if (receipt['code_sha256'] !== code) return 'it ran another program';
  if (stdoutSha256 !== test.stdout_sha256) return 'the judge was given another output';
  return endings(run).includes(test.verdict) ? null : `it ended otherwise than ${test.verdict} says`;
}

/**
 * The verdicts that a test may have after this end. A test that ended well may have several, since the expected output is not
 * known here. Nothing is known about a program whose compiler met a limit.
 */
function endings(run: Attested): readonly TestVerdict[] {
  const { terminal_reason, exit_code } = run.receipt;
  if (run.violations.some(isLimitOfCompiler)) return ['not_run'];
  switch (terminal_reason) {
    case 'exited':
      return exit_code === 0 ? endingsWell(run.receipt) : ['runtime_error'];
    case 'signaled':
      return ['runtime_error'];
    case 'wall_limit':
    case 'cpu_limit':
      return ['time_limit'];
    case 'memory_limit':
      return ['memory_limit'];
    case 'compile_failed':
      // Only the compiler's output shows whether the program is wrong or a limit stopped the compiler. A grader must read it.
      return ['compile_error', 'not_run'];
    default:
      return ['not_run'];
  }
}

const JUDGED: readonly TestVerdict[] = ['accepted', 'wrong_answer', 'checker_failed'];

/** The possible verdicts after a good end. If only stderr is cut, stdout is known, but older graders did not judge it. */
function endingsWell({ truncated, executor_output }: StoredReceipt): readonly TestVerdict[] {
  if (truncated !== true) return JUDGED;
  const stdout = isJsonObject(executor_output) ? executor_output['stdout'] : null;
  const isWhole = isJsonObject(stdout) && stdout['executor_truncated'] === false;
  return isWhole ? [...JUDGED, 'output_limit'] : ['output_limit'];
}

function checkerProblem(test: TestResult, said: CheckerRun, { receipt }: Attested): string | null {
  if (receipt['receipt_sha256'] !== said.receipt_sha256) return 'the verdict names another receipt of its checker';
  if (receipt['code_sha256'] !== said.code_sha256) return 'its checker was another program';
  if (artifactDigest(receipt['input_artifacts'], 'input/output') !== test.stdout_sha256) {
    return 'its checker was given another output';
  }
  const { terminal_reason, exit_code } = receipt;
  if (terminal_reason !== said.terminal_reason || exit_code !== said.exit_code)
    return 'its checker ended in another way';
  const judged = terminal_reason !== 'exited' ? 'checker_failed' : CHECKED[String(exit_code)];
  return (judged ?? 'checker_failed') === test.verdict ? null : 'its checker gave another verdict';
}

const CHECKED: Readonly<Record<string, TestVerdict>> = { 0: 'accepted', 1: 'wrong_answer' };

function totalsCheck({ tests, points, points_max, accepted }: Verdict): Check {
  const won = tests.filter(({ verdict }) => verdict === 'accepted');
  const sum = (of: (test: TestResult) => number) => tests.reduce((total, test) => total + of(test), 0);
  const isRight =
    accepted === (won.length === tests.length) &&
    points === sum((test) => test.points) &&
    points_max === sum((test) => test.points_max) &&
    tests.every((test) => test.points === (test.verdict === 'accepted' ? test.points_max : 0));
  return checked('totals', isRight ? null : 'they do not follow from the tests', `${points} of ${points_max} points`);
}

function factsOf({ program, accepted, points, points_max, tests }: Verdict | Verdict2): Report['facts'] {
  const { language, code_sha256 } = program;
  return { accepted, points, points_max, tests: tests.length, language, code_sha256 };
}
