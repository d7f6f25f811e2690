/**
 * Grading a program against tests that it does not see. Each test is a job of its own, in a cell of its own: none sees
 * another, and none sees the expected output. A last job judges, and its output is the verdict, signed by the service
 * like any result. Loaded when it is first used.
 */
import {
  type CheckerRun,
  type Comparison,
  compilerProblem,
  GRADING_FILE,
  type GradedTest,
  type Grading,
  JUDGE,
  VERDICT_FILE,
  type Verdict,
} from '@vouchbox/protocol/grading';
import type { JobSubmission, StoredBlob } from './contract-types.ts';
import type { Sha256 } from './digest.ts';
import { TransportFailure } from './failure.ts';
import { BOUNDS, type Checker, checkGrading, type GradeTest } from './grade-test.ts';
import type { CallOptions } from './job-options.ts';
import type { RunOptions, RunResult } from './run.ts';
import { verdictOf } from './verdict.ts';

export { cancelGrading, gradingEvents, listGradings, readGrading, submitGrading, waitForGrading } from './gradings.ts';

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
  /** Why a test is `not_run`, by its name: such as that its compiler met a limit. The verdict does not have it. */
  readonly notRun: ReadonlyMap<string, string>;
}

export type { Checker, Comparison, GradeTest, Verdict };

type Run = (program: string | JobSubmission, options: RunOptions) => Promise<RunResult>;

/** What a grading needs of a client. */
export interface GradingClient {
  readonly run: Run;
  readonly upload: (content: string, options: CallOptions) => Promise<StoredBlob>;
  readonly sha256: Sha256;
}

/**
 * @throws TypeError before the first job, if there are no tests, two of one name, or one that no job can take
 * @throws TransportFailure `undecodable` if the verdict is not one of this grading
 * @throws RangeError if a judge cannot be given all that the program wrote
 */
export async function gradeProgram(
  client: GradingClient,
  program: string | JobSubmission,
  options: GradeOptions,
): Promise<GradeResult> {
  const { run } = client;
  const { tests } = options;
  checkGrading(program, options);
  const graded = await inTurns(tests, options.concurrency ?? 4, (test) => runTest(run, program, { test, options }));
  const [first] = graded;
  const language = options.language ?? (typeof program === 'string' ? 'python' : program.language);
  const grading: Grading = {
    program: { language, code_sha256: first?.code_sha256 ?? null },
    tests: graded.map(({ test }) => test),
  };
  const judged = await judge(client, grading, options);
  const bytes = judged.files.get(VERDICT_FILE);
  if (bytes === undefined || judged.status !== 'succeeded') {
    throw new TransportFailure('undecodable', `${judged.job_id} gave no verdict: ${judged.stderr.slice(-500)}`);
  }
  const verdict = await verdictOf(bytes, grading, client.sha256);
  const notRun = new Map(graded.flatMap(({ test, notRun }) => (notRun === null ? [] : [[test.name, notRun]])));
  return { verdict, bytes, job_id: judged.job_id, receipt_sha256: judged.receipt_sha256, notRun };
}

/** What a job may have of each limit that a large grading needs; a ceiling that is lower holds. */
const LARGE = { cpu_seconds: 60, wall_seconds: 120, mem_mb: 1024 };

/** Runs the judge. A grading that is too large to be sent with its job is uploaded before. */
async function judge({ run, upload }: GradingClient, grading: Grading, { signal }: CallOptions): Promise<RunResult> {
  const text = JSON.stringify(grading);
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > BOUNDS.blobBytesMax) {
    const most = `at most ${BOUNDS.blobBytesMax} can be judged together`;
    throw new RangeError(`there is no verdict: what the program wrote and should write has ${bytes} bytes; ${most}`);
  }
  const given = { language: 'python', outputs: [VERDICT_FILE], signal };
  if (bytes <= BOUNDS.fileBytesMax) return await run(JUDGE, { ...given, files: { [GRADING_FILE]: text } });
  const files = { [GRADING_FILE]: await upload(text, { signal }) };
  return await run(JUDGE, { ...given, files, limits: LARGE });
}

interface Graded {
  readonly test: GradedTest;
  readonly code_sha256: string | undefined;
  /** Why it is `not_run`; null if it ran. */
  readonly notRun: string | null;
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
  const notRun = problemOf(ended);
  const truncated = isStdoutCut(ended);
  const isChecked = checker !== undefined && ended.status === 'succeeded' && !truncated;
  const record = {
    name,
    points,
    job_id: ended.job_id,
    receipt_sha256: ended.receipt_sha256,
    // Without a reason, the judge says `not_run`.
    terminal_reason: notRun === null ? ended.terminal_reason : null,
    exit_code: ended.exit_code,
    truncated,
    stdout: ended.stdout,
    expected: expected ?? null,
    compare,
    checker: isChecked ? await checkerRun(run, checker, { test, output: ended.stdout, signal }) : null,
  };
  return { test: record, code_sha256: ended.receipt.code_sha256, notRun };
}

/** How a program itself can end. With any other reason it did not run, or not to an end of its own. */
const ENDS = new Set(['exited', 'signaled', 'wall_limit', 'cpu_limit', 'memory_limit', 'compile_failed']);

/** Why there is nothing to judge; null if there is. */
function problemOf(ended: RunResult): string | null {
  const { job_id, status, terminal_reason } = ended;
  if (terminal_reason === null || !ENDS.has(terminal_reason)) {
    return `${job_id} ended as ${status}: ${terminal_reason ?? 'no reason is recorded'}`;
  }
  return compilerProblem(ended);
}

/** Whether some of the output that is judged is unknown. What a compiler or the program said on stderr does not count. */
function isStdoutCut({ receipt, truncated }: RunResult): boolean {
  return receipt.executor_output?.stdout.executor_truncated ?? truncated;
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
