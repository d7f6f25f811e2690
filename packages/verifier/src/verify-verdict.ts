/**
 * Checks the verdict of a grading: that the judge that is known here wrote it, that the service signed what the judge
 * wrote, and that every line follows from the signed record of the test that it names. Uses nothing that only Node has.
 * docs/GRADING.md.
 */
import {
  EXPORT_FILES,
  foldOutput,
  isJsonObject,
  outputRecords,
  parseStrictJson,
  type StoredReceipt,
  sha256Hex,
} from '@vouchbox/evidence';
import {
  type CheckerRun,
  isLimitOfCompiler,
  JUDGE,
  type SaidViolation,
  type TestResult,
  type TestVerdict,
  VERDICT_FILE,
  VERDICT_SCHEMA,
  type Verdict,
} from '@vouchbox/protocol/grading';
import { EXIT } from './exit-code.ts';
import { type ExportedJob, type ExportFiles, parseExport, wholeFile } from './exported-job.ts';
import { parseLines } from './history.ts';
import { type Check, checked, exitCodeOf, failed, passed, type Report, refusal } from './report.ts';
import { verifyExport } from './verify-export.ts';

/** A verdict with the exports of all jobs that it stands on. */
export interface VerdictFiles {
  /** The exact bytes of the verdict. */
  readonly verdict: Uint8Array<ArrayBuffer>;
  readonly judge: ExportFiles;
  /** The exports of the tests and of the checkers, by job id. */
  readonly jobs: ReadonlyMap<string, ExportFiles>;
}

export interface VerdictExpectation {
  /** PEM texts of the pinned keys; null for one that was too large to read. */
  readonly publicKeys: readonly (string | null)[];
  readonly tenant: string;
}

/** What a good report of a verdict shows and what it does not. */
const NOTICE =
  'This shows that the program of this digest was run once for each test, in a job of its own, and that the verdict ' +
  'follows from what those jobs did and from the expected outputs of these digests. It does not show what the tests were.';

/** The digest of a program as receipts state it. */
const JUDGE_SHA256 = sha256Hex(new TextEncoder().encode(JUDGE));

export async function verifyVerdict(given: VerdictFiles, expected: VerdictExpectation): Promise<Report> {
  const judge = await attested('judge', given.judge, expected);
  if ('isGood' in judge) return refusal(EXIT.record, [judge]);
  const checks = [passed('judge', judge.detail), judgeCheck(judge), verdictFileCheck(judge, given.verdict)];
  const verdict = parseVerdict(given.verdict);
  if (verdict === null || checks.some(({ isGood }) => !isGood)) {
    return refusal(EXIT.record, [
      ...checks,
      ...(verdict === null ? [failed('verdict', 'it is not a verdict of this form')] : []),
    ]);
  }
  for (const test of verdict.tests) checks.push(await testCheck(test, { verdict, given, expected }));
  checks.push(totalsCheck(verdict));
  const exitCode = exitCodeOf(checks, EXIT.record);
  return { exitCode, checks, facts: factsOf(verdict), notice: exitCode === EXIT.good ? NOTICE : null };
}

/** A job whose export was verified. */
interface Attested {
  readonly receipt: StoredReceipt;
  readonly stdoutSha256: string;
  readonly violations: readonly SaidViolation[];
  readonly detail: string;
}

/** Verifies one export; the first thing that does not hold is the check. */
async function attested(
  name: string,
  files: ExportFiles | undefined,
  expected: VerdictExpectation,
  job?: string,
): Promise<Attested | Check> {
  if (files === undefined) return failed(name, `there is no export of ${job ?? 'it'}`);
  const exported = parseExport(files);
  const report = await verifyExport(exported, { ...expected, job });
  const bad = report.checks.find(({ isGood }) => !isGood);
  if (bad !== undefined || 'problem' in exported) return failed(name, `${bad?.name}: ${bad?.detail}`);
  return { ...recordOf(exported), detail: `${exported.manifest.job_id}, ${report.checks.length} checks` };
}

/** The receipt and the output of an export that was found good: both were signed. */
function recordOf({ files }: ExportedJob): Omit<Attested, 'detail'> {
  const receipt = parseStrictJson(wholeFile(files, EXPORT_FILES.receipt) ?? new Uint8Array());
  const history = parseLines(wholeFile(files, EXPORT_FILES.events) ?? new Uint8Array());
  const events = 'problem' in history ? [] : history.events;
  const stdout = foldOutput(outputRecords(events, 'stdout'));
  return {
    receipt: receipt.kind === 'value' && isJsonObject(receipt.value) ? (receipt.value as StoredReceipt) : {},
    stdoutSha256: sha256Hex(new TextEncoder().encode(stdout)),
    violations: events.flatMap(({ kind, data }) => (kind === 'violation' ? [data as SaidViolation] : [])),
  };
}

function judgeCheck({ receipt }: Attested): Check {
  const isKnown = receipt['code_sha256'] === JUDGE_SHA256 && receipt['status'] === 'succeeded';
  return checked('judge_program', isKnown ? null : 'it is not the judge that is known here', `sha256:${JUDGE_SHA256}`);
}

function verdictFileCheck({ receipt }: Attested, bytes: Uint8Array<ArrayBuffer>): Check {
  const sha256 = sha256Hex(bytes);
  const isListed = artifactDigest(receipt['output_artifacts'], VERDICT_FILE) === sha256;
  return checked('verdict_file', isListed ? null : 'it is not what the judge wrote', `sha256:${sha256}`);
}

function artifactDigest(list: unknown, path: string): unknown {
  const artifacts: readonly unknown[] = Array.isArray(list) ? list : [];
  return artifacts.filter(isJsonObject).find((artifact) => artifact['path'] === path)?.['sha256'];
}

/** The form was made by a judge that is known, so its schema says the rest. */
function parseVerdict(bytes: Uint8Array<ArrayBuffer>): Verdict | null {
  const json = parseStrictJson(bytes);
  if (json.kind === 'refused' || !isJsonObject(json.value)) return null;
  const { schema, tests } = json.value;
  return schema === VERDICT_SCHEMA && Array.isArray(tests) ? (json.value as unknown as Verdict) : null;
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
 * The verdicts that a test may have after this end. One that ended well has several, since the expected output is not
 * known here. Of a program whose compiler met a limit nothing is known.
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
      // Only the compiler's output tells them apart, and a grader must read that.
      return ['compile_error', 'not_run'];
    default:
      return ['not_run'];
  }
}

const JUDGED: readonly TestVerdict[] = ['accepted', 'wrong_answer', 'checker_failed'];

/** Where only stderr is cut, the output is known. Graders of older versions did not judge it. */
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
  if (terminal_reason !== said.terminal_reason || exit_code !== said.exit_code) return 'its checker ended otherwise';
  const judged = terminal_reason !== 'exited' ? 'checker_failed' : CHECKED[String(exit_code)];
  return (judged ?? 'checker_failed') === test.verdict ? null : 'its checker said something else';
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

function factsOf({ program, accepted, points, points_max, tests }: Verdict): Report['facts'] {
  const { language, code_sha256 } = program;
  return { accepted, points, points_max, tests: tests.length, language, code_sha256 };
}
