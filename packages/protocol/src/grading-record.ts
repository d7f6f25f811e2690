/**
 * Input and output of the judge of version 2. Everything in a verdict comes from a signed record that the verdict names, or
 * follows from such records by the rules in `grading-score.ts`. docs/GRADING.md.
 */
import { type Comparison, TEST_VERDICTS } from './grading.ts';
import type { ACCOUNTS } from './receipt-format.ts';

export const VERDICT_SCHEMA_2 = 'urn:svc:verdict:v2';

export const TEST_VERDICTS_2 = [...TEST_VERDICTS, 'partial', 'compile_limit', 'invalid_input', 'skipped'] as const;
export type TestVerdict2 = (typeof TEST_VERDICTS_2)[number];

/** How two texts are compared. With `floats`, numbers may differ by either tolerance; all else is compared as words. */
export type Comparing = Comparison | { readonly floats: FloatTolerance };
export interface FloatTolerance {
  readonly absolute?: number;
  readonly relative?: number;
}

/** How a grader's program reports what it found: with testlib's exit codes, or with 42 and 43. */
export const EXIT_CODES = ['testlib', 'kattis'] as const;
export type ExitCodes = (typeof EXIT_CODES)[number];

/**
 * Who measured processor time and memory. The host measures the program's cell, in which a small process 1 also runs. The kernel
 * of a gVisor guest measures the program alone. Null if the usage of the program alone is not known.
 */
export type Account = (typeof ACCOUNTS)[number] | null;

/** A job that was run for a verdict, as its receipt states it. */
export interface JobRecord {
  readonly job_id: string;
  readonly receipt_sha256: string;
  readonly terminal_reason: string | null;
  readonly exit_code: number | null;
}

/** A run of the program. Its times are null if a compiler ran in the same job and the compiler's share is not known. */
export interface RunRecord extends JobRecord {
  /** The compiler's outcome: it found an error in the program or met a limit; null if it succeeded or ran elsewhere. */
  readonly compiler: 'error' | 'limit' | null;
  readonly cpu_ms: number | null;
  readonly wall_ms: number | null;
  readonly memory_peak_bytes: number | null;
  readonly account: Account;
}

/** Points that a checker gave: as a number, or as a part of the test's points. */
export interface SaidPoints {
  readonly kind: 'points' | 'part';
  readonly text: string;
}

/** A grader's program that judged a test: a checker, a comparer, an interactor or a validator. */
export interface CheckRecord extends JobRecord {
  readonly code_sha256: string | null;
  readonly codes: ExitCodes;
  readonly said: SaidPoints | null;
}

export interface BuildRecord extends JobRecord {
  readonly compiler: 'error' | 'limit' | null;
}

export interface GroupRecord {
  readonly name: string;
  readonly score: 'sum' | 'minimum';
  /** The points of a group with score `minimum`. The group gets the share of these points that its worst test won. */
  readonly points: number;
  readonly after: readonly string[];
  readonly stop: boolean;
}

interface TestRecord {
  readonly name: string;
  readonly group: string;
  readonly compare: Comparing;
  /** The run of the program; null if the test did not run it. */
  readonly run: RunRecord | null;
  /** An earlier run that reached its wall limit before it had used half of its processor time. */
  readonly starved: RunRecord | null;
  readonly check: CheckRecord | null;
  readonly validations: readonly CheckRecord[];
  readonly stdin_sha256: string | null;
}

/** A test as the judge gets it. */
export interface JudgedTest extends TestRecord {
  readonly points: number;
  /** Whether some of the output is unknown. */
  readonly is_cut: boolean;
  /** The texts that the judge compares or commits to; null if a separate job compares them. */
  readonly stdout: string | null;
  readonly expected: string | null;
  /** The digests of the two texts, if the judge does not get the texts themselves. */
  readonly stdout_sha256: string | null;
  readonly expected_sha256: string | null;
}

export interface JudgedProgram {
  readonly language: string;
  readonly code_sha256: string | null;
  /** The job that compiled the program once; null if each test compiled it, or if there is nothing to compile. */
  readonly build: BuildRecord | null;
}

/** Everything that the judge reads. */
export interface Grading2 {
  readonly program: JudgedProgram;
  readonly groups: readonly GroupRecord[];
  readonly tests: readonly JudgedTest[];
}

export interface TestResult2 extends TestRecord {
  readonly verdict: TestVerdict2;
  readonly points: number;
  readonly points_max: number;
  readonly stdout_sha256: string | null;
  readonly expected_sha256: string | null;
}

export interface GroupResult extends Omit<GroupRecord, 'points'> {
  readonly passed: boolean;
  readonly points: number;
  readonly points_max: number;
}

/** The verdict as the judge writes it. */
export interface Verdict2 {
  readonly schema: typeof VERDICT_SCHEMA_2;
  readonly program: JudgedProgram;
  readonly accepted: boolean;
  readonly points: number;
  readonly points_max: number;
  readonly groups: readonly GroupResult[];
  readonly tests: readonly TestResult2[];
}
