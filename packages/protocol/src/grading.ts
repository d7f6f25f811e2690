/**
 * Grading runs a submitted program against tests that it does not see. Each test is a job of its own. One more job runs
 * the judge below, and its output is the verdict, so the service signs the verdict like any result. Anybody who has the
 * records can retrace each line of the verdict. docs/GRADING.md.
 */

export const VERDICT_SCHEMA = 'urn:svc:verdict:v1';

/** Input and output of the judge. */
export const GRADING_FILE = 'input/grading.json';
export const VERDICT_FILE = 'output/verdict.json';

/** How an output is compared with the expected one. */
export const COMPARISONS = ['lines', 'words', 'exact'] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** The verdicts that a test can have. */
export const TEST_VERDICTS = [
  'accepted',
  'wrong_answer',
  'time_limit',
  'memory_limit',
  'runtime_error',
  'compile_error',
  'output_limit',
  'checker_failed',
  'not_run',
] as const;
export type TestVerdict = (typeof TEST_VERDICTS)[number];

/** A test as the judge gets it: with texts for the judge to compare, or with a checker that has already compared. */
export interface GradedTest {
  readonly name: string;
  readonly points: number;
  readonly job_id: string;
  readonly receipt_sha256: string;
  readonly terminal_reason: string | null;
  readonly exit_code: number | null;
  readonly truncated: boolean;
  readonly stdout: string;
  /** The expected output; null if only the end counts, or if a checker judges. */
  readonly expected: string | null;
  readonly compare: Comparison;
  readonly checker: CheckerRun | null;
}

/** The recorded end of a test. */
export interface TestEnd {
  readonly terminal_reason: string | null;
  readonly violations: readonly SaidViolation[];
  readonly stderr: string;
}

/** A violation, in the detail that a grading needs. */
export interface SaidViolation {
  readonly type: string;
  readonly message: string;
  readonly path?: string;
  readonly phase?: string;
}

/** Matches a compiler's message about the program: the message names a line of the program, or a symbol. */
const ABOUT_PROGRAM =
  /^[^\s:]+:\d+(:\d+)?: (fatal )?error: |undefined reference to|multiple definition of|relocation truncated to fit/im;
/** Matches a message that a limit stopped the compiler or a part of it. The message may also name a line. */
const ABOUT_LIMIT =
  /no space left on device|cannot allocate memory|file too large|resource temporarily unavailable|out of memory|out of resources|signal terminated program|terminated with signal/i;

/** Whether the service says that the compiler met a limit of the job. The program then did not run. */
export function isLimitOfCompiler({ type, phase }: SaidViolation): boolean {
  return phase === 'compile' && type !== 'compile';
}

/**
 * Why the end of a test says nothing about the program: its compiler met a limit. Null if the program ran, or if the compiler
 * found an error in it. A violation reports a limit that the kernel counts; other limits are known only from the compiler's
 * message. A test whose compiler met a limit is `not_run`, so the judge is given no terminal reason for it.
 */
export function compilerProblem({ terminal_reason, violations, stderr }: TestEnd): string | null {
  const met = violations.filter(isLimitOfCompiler);
  if (met.length > 0) return `the compiler met a limit: ${met.map(({ message }) => message).join('; ')}`;
  if (terminal_reason !== 'compile_failed') return null;
  const limit = lineWith(ABOUT_LIMIT, stderr);
  if (limit !== null) return `the compiler met a limit: ${limit}`;
  return ABOUT_PROGRAM.test(stderr)
    ? null
    : 'the compiler failed, and its recorded output names no error in the program';
}

/** The first matching line, cut to the length of a report. */
function lineWith(pattern: RegExp, text: string): string | null {
  return (
    text
      .split('\n')
      .find((line) => pattern.test(line))
      ?.slice(0, 300) ?? null
  );
}

/** A program that judged an output: it accepts with exit code 0 and refuses with 1. */
export interface CheckerRun {
  readonly job_id: string;
  readonly receipt_sha256: string;
  readonly code_sha256: string;
  readonly terminal_reason: string | null;
  readonly exit_code: number | null;
}

export interface GradedProgram {
  readonly language: string;
  /** The digest of the checker's code; null if no receipt states it. */
  readonly code_sha256: string | null;
}

/** Everything that the judge reads. */
export interface Grading {
  readonly program: GradedProgram;
  readonly tests: readonly GradedTest[];
}

export interface TestResult {
  readonly name: string;
  readonly verdict: TestVerdict;
  readonly points: number;
  readonly points_max: number;
  readonly job_id: string;
  readonly receipt_sha256: string;
  readonly stdout_sha256: string;
  /** The digest of the expected output, which stays secret; null if the test has no expected output. */
  readonly expected_sha256: string | null;
  readonly checker: CheckerRun | null;
}

/** The verdict as the judge writes it. */
export interface Verdict {
  readonly schema: typeof VERDICT_SCHEMA;
  readonly program: GradedProgram;
  readonly accepted: boolean;
  readonly points: number;
  readonly points_max: number;
  readonly tests: readonly TestResult[];
}

/**
 * The judge, in Python. A verifier knows a judge by the digest of its text: a changed text is another judge, and verdicts of
 * earlier judges must still be accepted.
 */
export const JUDGE = `import hashlib
import json

ENDS = {
    "wall_limit": "time_limit",
    "cpu_limit": "time_limit",
    "memory_limit": "memory_limit",
    "compile_failed": "compile_error",
    "signaled": "runtime_error",
}


def lines(text):
    return [line.rstrip() for line in text.rstrip().split("\\n")]


COMPARE = {
    "exact": lambda one, other: one == other,
    "lines": lambda one, other: lines(one) == lines(other),
    "words": lambda one, other: one.split() == other.split(),
}


def verdict(test):
    reason = test["terminal_reason"]
    if reason != "exited":
        return ENDS.get(reason, "not_run")
    if test["exit_code"] != 0:
        return "runtime_error"
    if test["truncated"]:
        return "output_limit"
    checker = test["checker"]
    if checker is not None:
        if checker["terminal_reason"] != "exited" or checker["exit_code"] not in (0, 1):
            return "checker_failed"
        return "accepted" if checker["exit_code"] == 0 else "wrong_answer"
    expected = test["expected"]
    if expected is None or COMPARE[test["compare"]](test["stdout"], expected):
        return "accepted"
    return "wrong_answer"


def sha256(text):
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


def result(test):
    said = verdict(test)
    return {
        "name": test["name"],
        "verdict": said,
        "points": test["points"] if said == "accepted" else 0,
        "points_max": test["points"],
        "job_id": test["job_id"],
        "receipt_sha256": test["receipt_sha256"],
        "stdout_sha256": sha256(test["stdout"]),
        "expected_sha256": sha256(test["expected"]),
        "checker": test["checker"],
    }


with open("${GRADING_FILE}", encoding="utf-8") as file:
    grading = json.load(file)
tests = [result(test) for test in grading["tests"]]
document = {
    "schema": "${VERDICT_SCHEMA}",
    "program": grading["program"],
    "accepted": all(test["verdict"] == "accepted" for test in tests),
    "points": sum(test["points"] for test in tests),
    "points_max": sum(test["points_max"] for test in tests),
    "tests": tests,
}
with open("${VERDICT_FILE}", "w", encoding="utf-8") as file:
    json.dump(document, file, ensure_ascii=False, indent=1)
    file.write("\\n")
print("accepted" if document["accepted"] else "not accepted")
`;
