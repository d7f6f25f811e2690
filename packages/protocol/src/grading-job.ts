/** The jobs of a grading: the input of each job, and what the grading reads about the job's end. */
import { compilerProblem, type SaidViolation } from './grading.ts';
import { CHECKED_FILES, COMPARER } from './grading-judge.ts';
import {
  type GraderProgram,
  type GradingPlan,
  limitsOf,
  type PlannedProgram,
  type PlannedTest,
  wallFor,
} from './grading-plan.ts';
import type { CheckRecord, Comparing, ExitCodes, JobRecord, RunRecord, SaidPoints } from './grading-record.ts';
import type { ProgramUsage, Receipt, ResourceUsage } from './receipt.ts';
import type { JobSubmission, LimitsInput } from './submission.ts';

/** A text that a job is given. Expected output is `secret`: no other principal may name it, and exports leave it out. */
export type JobText = (
  | { readonly text: string }
  | { readonly sha256: string; readonly size_bytes: number }
  | { readonly from: { readonly job_id: string; readonly path: string } }
) & { readonly secret?: true };

export interface PlannedSubmission {
  readonly language: string;
  readonly code: string;
  readonly runtime?: string | undefined;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly stdin?: JobText | undefined;
  readonly files?: readonly ({ readonly path: string } & JobText)[] | undefined;
  readonly outputs: readonly string[];
  readonly limits?: LimitsInput | undefined;
  readonly requirements?: JobSubmission['requirements'];
  readonly build?: { readonly options?: readonly string[] | undefined } | undefined;
  readonly product?: { readonly job_id: string } | undefined;
  readonly large_outputs?: { readonly stdout: string; readonly max_bytes: number } | undefined;
  readonly interactor?: Omit<PlannedSubmission, 'stdin' | 'interactor'> | undefined;
}

export interface PlannedJob {
  /** A name that no other job for the same program has. */
  readonly name: string;
  readonly role: 'build' | 'validate' | 'test' | 'check' | 'judge';
  /** Whether the job is the same for every program. Such a job is made once, and its end counts for all programs. */
  readonly shared: boolean;
  readonly test: number | null;
  readonly submission: PlannedSubmission;
}

/** An input or output file of a job that ended. `text` is read only for files in which a checker may have left points. */
export interface EndedFile {
  readonly path: string;
  readonly sha256: string;
  readonly text?: string | undefined;
}

/** How a job ended, from its receipt and its record. */
export interface JobEnd extends JobRecord {
  /** Null if unknown. A text longer than `inlineRoom` bytes is needed only where outputs are not kept by digest. */
  readonly stdout: string | null;
  readonly stderr: string;
  /** Whether the record lacks a part of stdout. */
  readonly truncated: boolean;
  readonly violations: readonly SaidViolation[];
  readonly code_sha256: string | null;
  readonly stdin_sha256: string | null;
  /** The digest of everything that the program wrote to stdout. */
  readonly stdout_sha256: string | null;
  readonly cpu_limit_ms: number | null;
  readonly usage: ResourceUsage;
  /** The usage of the program alone. */
  readonly programUsage: ProgramUsage | null;
  readonly inputs: readonly EndedFile[];
  readonly outputs: readonly EndedFile[];
  /** The end of the other job, if the job is one of a pair. */
  readonly peer?: JobEnd | undefined;
}

/** The destination of a test's output. */
export const STDOUT_FILE = 'output/stdout';

export function jobRecord({ job_id, receipt_sha256, terminal_reason, exit_code }: JobEnd): JobRecord {
  return { job_id, receipt_sha256, terminal_reason, exit_code };
}

const LIMITS: ReadonlySet<string | null> = new Set(['wall_limit', 'cpu_limit', 'memory_limit']);

/** The compiler's outcome in a job that compiles and runs. */
export function compilerOf(end: JobEnd): RunRecord['compiler'] {
  if (compilerProblem(end) !== null) return 'limit';
  return end.terminal_reason === 'compile_failed' ? 'error' : null;
}

/** The compiler's outcome in a job that only compiles. */
export function builderOf(end: JobEnd): RunRecord['compiler'] {
  return LIMITS.has(end.terminal_reason) ? 'limit' : compilerOf(end);
}

/** The record of a run. With `isAlone`, the job ran no compiler, so the cell's usage stands in for an unknown `programUsage`. */
export function runRecord(end: JobEnd, isAlone: boolean): RunRecord {
  const { cpu_ms, wall_ms, memory_peak_bytes, account } = end.programUsage ?? (isAlone ? cellUsage(end) : NO_USAGE);
  const usage = { cpu_ms, wall_ms, memory_peak_bytes, account };
  return { ...jobRecord(end), compiler: isAlone ? null : compilerOf(end), ...usage };
}

function cellUsage({ usage }: JobEnd) {
  return { ...usage, account: usage.wall_ms === null ? null : ('cell' as const) };
}

const NO_USAGE = { cpu_ms: null, wall_ms: null, memory_peak_bytes: null, account: null } as const;

export function checkRecord(end: JobEnd, codes: ExitCodes): CheckRecord {
  return { ...jobRecord(end), code_sha256: end.code_sha256, codes, said: saidBy(end, codes) };
}

/** The most characters that a score may have. A longer score is the checker's mistake. */
const saidCharsMax = 50;
export const TOO_LONG = 'too long';

/** The points that a checker gave. They follow `points` at the start of stderr, or are in the files of the Kattis format. */
function saidBy({ stderr, outputs, violations }: JobEnd, codes: ExitCodes): SaidPoints | null {
  if (codes === 'testlib') {
    const [, text] = /^points[ \t]+(\S{1,40})/.exec(stderr) ?? [];
    return text === undefined ? null : { kind: 'points', text };
  }
  // A test gets all of its points if its checker states none. So a lost file with points must count as a mistake.
  if (violations.some(mayHidePoints)) return { kind: 'points', text: 'unknown' };
  for (const [path, kind] of SCORE_FILES) {
    const text = outputs.find((file) => file.path === path)?.text;
    if (text !== undefined) return { kind, text: text.length > saidCharsMax ? TOO_LONG : text };
  }
  return null;
}

/** The feedback directory of the Kattis format is `output/`. */
export const SCORE_FILES = [
  ['output/score.txt', 'points'],
  ['output/score_multiplier.txt', 'part'],
] as const;

/** Whether a violation may have hidden a file with points: it names such a file, or does not say which files are lost. */
export function mayHidePoints({ type, path }: SaidViolation): boolean {
  return type === 'output_count' || path === 'output' || SCORE_FILES.some(([score]) => score === path);
}

const GRADER_CPU_SECONDS = 30;
/** Limits for a grader's programs. If such a program meets a limit, the test is lost, so the limits are ample. */
export const GRADER_LIMITS: LimitsInput = {
  cpu_seconds: GRADER_CPU_SECONDS,
  wall_seconds: wallFor(GRADER_CPU_SECONDS),
  mem_mb: 512,
  max_file_mb: 64,
};

/** The outputs of a grader's program: points in the Kattis format, and an interactor's notes. */
const outputsOf = ({ codes }: GraderProgram) => (codes === 'kattis' ? ['output/**'] : []);

interface Checked {
  readonly test: PlannedTest;
  readonly stdin: JobText;
  readonly output: JobText;
  readonly product: PlannedSubmission['product'];
}

/** The submission of a checker: its files, and their names in the order that its protocol demands. */
export function checkerSubmission(plan: GradingPlan, checker: GraderProgram, given: Checked): PlannedSubmission {
  const { test, output, product } = given;
  const expected = expectedOf(test);
  const files = [
    { path: CHECKED_FILES.stdin, ...given.stdin },
    { path: CHECKED_FILES.output, ...output },
    { path: CHECKED_FILES.expected, ...expected },
  ];
  const args = argsOf(checker, test, CHECKED_FILES.output);
  const stdin = checker.codes === 'kattis' ? { stdin: output } : {};
  return { ...graderSubmission(plan, checker, product), args, files, ...stdin };
}

/** The submission of an interactor: the input and the expected output. The interactor may write its output file as it likes. */
export function interactorSubmission(
  plan: GradingPlan,
  interactor: GraderProgram,
  { test, product }: Pick<Checked, 'test' | 'product'>,
): NonNullable<PlannedSubmission['interactor']> {
  const files = [
    { path: CHECKED_FILES.stdin, ...(test.stdin ?? { text: '' }) },
    { path: CHECKED_FILES.expected, ...expectedOf(test) },
  ];
  const args = argsOf(interactor, test, INTERACTOR_OUTPUT);
  const limits = { wall_seconds: interactorWall(plan), ...interactor.limits };
  return { ...graderSubmission(plan, { ...interactor, limits }, product), args, files };
}

/** The wall limit of an interactor: to judge a program that takes all of its time, the interactor must outlive that program. */
function interactorWall(plan: GradingPlan): number {
  const { wall_seconds = 0 } = limitsOf(plan);
  return Math.max(wallFor(GRADER_CPU_SECONDS), wall_seconds + 10);
}

const INTERACTOR_OUTPUT = 'output/tout';

/** The arguments of a grader's program: its files' names in the order that its protocol demands, then the plan's arguments. */
function argsOf({ codes, args = [] }: GraderProgram, { checker_args = [] }: PlannedTest, output: string) {
  const { stdin, expected } = CHECKED_FILES;
  const files = codes === 'kattis' ? [stdin, expected, 'output/'] : [stdin, output, expected];
  return [...files, ...args, ...checker_args];
}

export function graderSubmission(
  { requirements }: GradingPlan,
  program: GraderProgram,
  product: PlannedSubmission['product'],
): PlannedSubmission {
  const { language, code, runtime, args, limits } = program;
  const limited = { ...GRADER_LIMITS, ...limits };
  return { language, code, runtime, args, product, limits: limited, requirements, outputs: outputsOf(program) };
}

/** The submission that compares two texts in a job of its own. */
export function comparerSubmission(test: PlannedTest, output: JobText, compare: Comparing): PlannedSubmission {
  return {
    language: 'python',
    code: COMPARER,
    args: [JSON.stringify(compare)],
    files: [
      { path: CHECKED_FILES.output, ...output },
      { path: CHECKED_FILES.expected, ...expectedOf(test) },
    ],
    outputs: [],
    limits: { cpu_seconds: 60, wall_seconds: wallFor(60), mem_mb: 512 },
  };
}

export function expectedOf({ expected = { text: '' } }: PlannedTest): JobText {
  return { ...expected, secret: true };
}

export function buildSubmission(
  { requirements }: GradingPlan,
  { language, code, runtime, files = {}, options }: PlannedProgram,
): PlannedSubmission {
  const list = Object.entries(files).map(([path, text]) => ({ path, ...text }));
  return { language, code, runtime, files: list, outputs: [], requirements, build: { options } };
}

/** What a service knows about a job that ended, in the detail that a grading needs. */
export interface EndedJob extends Pick<JobRecord, 'job_id' | 'terminal_reason' | 'exit_code'> {
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly violations: readonly SaidViolation[];
  readonly receipt: Partial<Receipt> & {
    readonly receipt_sha256: string;
    readonly large_outputs?: readonly EndedFile[];
  };
}

/** The end of a job. `textOf` reads an output of the job that may hold points. */
export function endOf(job: EndedJob, textOf: (path: string) => string | undefined = () => undefined): JobEnd {
  const { job_id, terminal_reason, exit_code, stdout, stderr, violations, receipt } = job;
  const { executor_output, effective_limits, resource_usage, program_usage } = receipt;
  const cpuSeconds = effective_limits?.cpu_seconds ?? null;
  const outputs = (receipt.output_artifacts ?? []).map(({ path, sha256 }) => ({ path, sha256, text: textOf(path) }));
  return {
    job_id,
    receipt_sha256: receipt.receipt_sha256,
    terminal_reason,
    exit_code,
    stdout,
    stderr,
    truncated: executor_output?.stdout.executor_truncated ?? job.truncated,
    violations,
    code_sha256: receipt.code_sha256 ?? null,
    stdin_sha256: receipt.stdin_sha256 ?? null,
    stdout_sha256: executor_output?.stdout.raw_sha256 ?? null,
    cpu_limit_ms: cpuSeconds === null ? null : cpuSeconds * 1000,
    usage: resource_usage ?? NO_USAGE,
    programUsage: program_usage ?? null,
    inputs: receipt.input_artifacts ?? [],
    outputs: [...outputs, ...(receipt.large_outputs ?? [])],
  };
}
