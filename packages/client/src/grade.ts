/**
 * Grading a program against tests that it does not see. Each test is a job of its own, in a cell of its own: none sees
 * another, and none sees the expected output. A last job judges, and its output is the verdict, signed by the service
 * like any result. Loaded when it is first used.
 */
import {
  type CheckerRun,
  type Comparison,
  GRADING_FILE,
  type GradedTest,
  type Grading,
  JUDGE,
  VERDICT_FILE,
  type Verdict,
} from '@vouchbox/protocol/grading';
import type { JobSubmission } from './contract-types.ts';
import { TransportFailure } from './failure.ts';
import type { CallOptions } from './job-options.ts';
import type { RunOptions, RunResult } from './run.ts';
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

export interface GradeOptions
  extends CallOptions,
    Pick<RunOptions, 'language' | 'limits' | 'runtime' | 'minimumIsolation'> {
  readonly tests: readonly GradeTest[];
  readonly checker?: Checker | undefined;
  /** How many tests run at the same time, at least 1. Default 4. */
  readonly concurrency?: number | undefined;
  /** Called as each test has run, before the verdict. */
  readonly onTest?: ((name: string, run: RunResult) => unknown) | undefined;
}

export interface GradeResult {
  readonly verdict: Verdict;
  /** The exact bytes of the verdict: an output file of the job that judged. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The job that judged. Its attestation is the signature of the verdict. */
  readonly job_id: string;
  readonly receipt_sha256: string;
}

export type { Comparison, Verdict };

/** The most bytes of an input file of a job. */
const fileBytesMax = 2 * 1024 * 1024;

type Run = (program: string | JobSubmission, options: RunOptions) => Promise<RunResult>;

/** What a grading needs of a client. */
export interface GradingClient {
  readonly run: Run;
}

/** @throws TypeError if there are no tests, or two of one name */
export async function gradeProgram(
  { run }: GradingClient,
  program: string | JobSubmission,
  options: GradeOptions,
): Promise<GradeResult> {
  const { tests, signal } = options;
  if (tests.length === 0) throw new TypeError('a grading needs at least one test');
  if (new Set(tests.map(({ name }) => name)).size < tests.length) throw new TypeError('two tests have the same name');
  const graded = await inTurns(tests, options.concurrency ?? 4, (test) => runTest(run, program, { test, options }));
  const [first] = graded;
  const language = options.language ?? (typeof program === 'string' ? 'python' : program.language);
  const grading: Grading = {
    program: { language, code_sha256: first?.code_sha256 ?? null },
    tests: graded.map(({ test }) => test),
  };
  const text = JSON.stringify(grading);
  if (new TextEncoder().encode(text).length > fileBytesMax) {
    throw new TypeError(`the outputs and what is expected of them are more than ${fileBytesMax} bytes together`);
  }
  const files = { [GRADING_FILE]: text };
  const judged = await run(JUDGE, { language: 'python', files, outputs: [VERDICT_FILE], signal });
  const bytes = judged.files.get(VERDICT_FILE);
  if (bytes === undefined || judged.status !== 'succeeded') {
    throw new TransportFailure('undecodable', `${judged.job_id} gave no verdict: ${judged.stderr.slice(-500)}`);
  }
  const verdict = JSON.parse(new TextDecoder().decode(bytes)) as Verdict;
  return { verdict, bytes, job_id: judged.job_id, receipt_sha256: judged.receipt_sha256 };
}

interface Graded {
  readonly test: GradedTest;
  readonly code_sha256: string | undefined;
}

/** Runs one test, and its checker if there is one and the program ended well. */
async function runTest(
  run: Run,
  program: string | JobSubmission,
  { test, options }: { readonly test: GradeTest; readonly options: GradeOptions },
): Promise<Graded> {
  const { language, limits, runtime, minimumIsolation, signal, checker, onTest } = options;
  const { name, stdin, args, files, expected, compare = 'lines', points = 1 } = test;
  const given = { language, limits, runtime, minimumIsolation, signal, stdin, args, files, outputs: [] };
  const ended = await run(program, given);
  await onTest?.(name, ended);
  const isChecked = checker !== undefined && ended.status === 'succeeded' && !ended.truncated;
  const record = {
    name,
    points,
    job_id: ended.job_id,
    receipt_sha256: ended.receipt_sha256,
    terminal_reason: ended.terminal_reason,
    exit_code: ended.exit_code,
    truncated: ended.truncated,
    stdout: ended.stdout,
    expected: expected ?? null,
    compare,
    checker: isChecked ? await checkerRun(run, checker, { test, output: ended.stdout, signal }) : null,
  };
  return { test: record, code_sha256: ended.receipt.code_sha256 };
}

async function checkerRun(
  run: Run,
  { language, code }: Checker,
  {
    test,
    output,
    signal,
  }: { readonly test: GradeTest; readonly output: string; readonly signal: AbortSignal | undefined },
): Promise<CheckerRun> {
  const files = { stdin: test.stdin ?? '', expected: test.expected ?? '', output };
  const { job_id, receipt_sha256, receipt, terminal_reason, exit_code } = await run(code, {
    language,
    files,
    outputs: [],
    signal,
  });
  return { job_id, receipt_sha256, code_sha256: receipt.code_sha256 ?? '', terminal_reason, exit_code };
}

/** Does the work for each item, at most so many at the same time. The results have the order of the items. */
async function inTurns<Item, Result>(
  items: readonly Item[],
  concurrency: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = items.entries();
  const worker = async () => {
    for (const [index, item] of waiting) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(concurrency, items.length)) }, worker));
  return results;
}
