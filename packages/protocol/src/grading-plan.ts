/**
 * A grading as its caller plans it: the grader's programs, tests, groups and limits. `grading-steps.ts` turns the plan into jobs,
 * for one program after the other.
 */
import { COMPARISONS } from './grading.ts';
import type { Comparing, ExitCodes, GroupRecord } from './grading-record.ts';
import { gradingPointsMax, LIMIT_DEFAULTS } from './limits.ts';
import type { JobSubmission, LimitsInput } from './submission.ts';

/** A text, or the digest of one of the tenant's blobs. The judge's own job compares only texts, not blobs. */
export type PlanText = { readonly text: string } | { readonly sha256: string; readonly size_bytes: number };

export interface PlannedProgram {
  readonly language: string;
  readonly code: string;
  readonly runtime?: string | undefined;
  readonly files?: Readonly<Record<string, PlanText>> | undefined;
  /** Options for building the program. */
  readonly options?: readonly string[] | undefined;
}

/** A checker, an interactor or a validator. */
export interface GraderProgram extends PlannedProgram {
  /** The meaning of the exit codes; `testlib` if left out. */
  readonly codes?: ExitCodes | undefined;
  /** Arguments that follow the names of the program's files. */
  readonly args?: readonly string[] | undefined;
  readonly limits?: LimitsInput | undefined;
}

export interface PlannedGroup {
  readonly name: string;
  readonly score?: 'sum' | 'minimum' | undefined;
  /** With `minimum`, the group gets the share of these points that its worst test won. Default: the sum of its tests' points. */
  readonly points?: number | undefined;
  /** Names of earlier groups. Unless all tests of those groups are accepted, the tests of this group are skipped. */
  readonly after?: readonly string[] | undefined;
  /** Whether the group ends at its first test without points. */
  readonly stop?: boolean | undefined;
}

export interface PlannedTest {
  readonly name: string;
  readonly group?: string | undefined;
  readonly stdin?: PlanText | undefined;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly files?: Readonly<Record<string, PlanText>> | undefined;
  readonly expected?: PlanText | undefined;
  readonly compare?: Comparing | undefined;
  readonly points?: number | undefined;
  /** Arguments for the checker of this test, after the arguments for all tests. */
  readonly checker_args?: readonly string[] | undefined;
}

export interface GradingPlan {
  readonly tests: readonly PlannedTest[];
  /** If left out, all tests are one group, and the points of the tests are added up. */
  readonly groups?: readonly PlannedGroup[] | undefined;
  /** Without groups: whether the grading ends at its first test without points. */
  readonly stop?: boolean | undefined;
  readonly checker?: GraderProgram | undefined;
  readonly interactor?: GraderProgram | undefined;
  readonly validators?: readonly GraderProgram[] | undefined;
  /** Limits of the program. If `wall_seconds` is left out, it is far above `cpu_seconds`. */
  readonly limits?: LimitsInput | undefined;
  readonly requirements?: JobSubmission['requirements'];
  /** How many bytes a test may print. */
  readonly output_bytes?: number | undefined;
}

const testsMax = 1000;
/** How many bytes a test may print, unless more output is expected. */
const outputBytesUsual = 8 * 1024 * 1024;
export const outputBytesMost = 64 * 1024 * 1024;

/** The JSON pointer of the wrong member of a plan, and a text that says what is wrong with this member. */
export type PlanProblem = readonly [pointer: string, problem: string];

/** What is wrong with a plan; null if a verdict is possible. The bounds of texts are checked in the submissions, not here. */
export function planProblem({ tests, groups, output_bytes: bytes = 1 }: GradingPlan): PlanProblem | null {
  if (tests.length === 0) return ['/tests', 'a grading needs at least one test'];
  if (tests.length > testsMax)
    return ['/tests', `a grading has ${tests.length} tests; at most ${testsMax} are allowed`];
  const areBytes = bytes >= 1 && bytes <= outputBytesMost;
  if (!areBytes) return ['/output_bytes', `output_bytes is from 1 to ${outputBytesMost}`];
  const names = new Set<string>();
  for (const [at, test] of tests.entries()) {
    if (names.has(test.name)) return [`/tests/${at}/name`, `two tests have the same name: ${test.name}`];
    names.add(test.name);
    const problem = testProblem(test);
    if (problem !== null) return [`/tests/${at}`, `test ${test.name}: ${problem}`];
  }
  return groups === undefined ? null : groupsProblem(groups, tests);
}

const LONE_SURROGATE = /\p{Surrogate}/u;

function testProblem({ name, expected, compare, points = 1 }: PlannedTest): string | null {
  const text = expected !== undefined && 'text' in expected ? expected.text : '';
  if (LONE_SURROGATE.test(name + text)) return 'its name or what it expects has no UTF-8 form';
  if (!arePoints(points)) return 'its points must be a number, and not negative';
  return isComparing(compare ?? 'lines') ? null : `compare is one of ${COMPARISONS.join(', ')}, or floats`;
}

function arePoints(points: number): boolean {
  return points >= 0 && points <= gradingPointsMax;
}

function isComparing(compare: Comparing): boolean {
  if (typeof compare === 'string') return COMPARISONS.includes(compare);
  const { absolute = 0, relative = 0 } = compare.floats;
  return absolute >= 0 && relative >= 0 && Number.isFinite(absolute) && Number.isFinite(relative);
}

function groupsProblem(groups: readonly PlannedGroup[], tests: readonly PlannedTest[]): PlanProblem | null {
  const before = new Set<string>();
  const filled = new Set(tests.map(({ group }) => group));
  for (const [at, { name, after = [], points = 0 }] of groups.entries()) {
    const pointer = `/groups/${at}`;
    if (before.has(name)) return [pointer, `two groups have the same name: ${name}`];
    if (LONE_SURROGATE.test(name)) return [pointer, `the name of group ${name} has no UTF-8 form`];
    if (!filled.has(name)) return [pointer, `group ${name} has no test`];
    if (!arePoints(points)) return [pointer, `group ${name}: its points must be a number, and not negative`];
    const missing = after.find((other) => !before.has(other));
    if (missing !== undefined) return [pointer, `group ${name} comes after ${missing}, which is not listed before it`];
    before.add(name);
  }
  const stray = tests.findIndex(({ group }) => group === undefined || !before.has(group));
  return stray === -1 ? null : [`/tests/${stray}`, `test ${tests[stray]?.name} is in no group that is listed`];
}

export function sizeOfText(text: PlanText | undefined): number {
  if (text === undefined) return 0;
  return 'text' in text ? new TextEncoder().encode(text.text).length : text.size_bytes;
}

/** How many bytes a test may print. */
export function outputRoom({ output_bytes }: GradingPlan, { expected }: PlannedTest): number {
  if (output_bytes !== undefined) return output_bytes;
  return Math.min(outputBytesMost, Math.max(outputBytesUsual, 2 * sizeOfText(expected)));
}

/**
 * The limits of the program. The wall limit guards against programs that sleep. It must be so high that a program with processor
 * time left does not meet it on a busy host.
 */
export function limitsOf({ limits = {} }: GradingPlan): LimitsInput {
  if (limits.wall_seconds !== undefined) return limits;
  return { ...limits, wall_seconds: wallFor(limits.cpu_seconds ?? LIMIT_DEFAULTS.cpu_seconds) };
}

export function wallFor(cpuSeconds: number): number {
  return Math.max(10, 3 * cpuSeconds + 2);
}

/** The groups as the judge gets them. */
export function groupsOf({ groups, tests, stop = false }: GradingPlan): readonly GroupRecord[] {
  if (groups === undefined) return [{ name: ALL_TESTS, score: 'sum', points: 0, after: [], stop }];
  return groups.map(({ name, score = 'sum', points, after = [], stop = false }) => {
    const own = tests.reduce((sum, test) => sum + (test.group === name ? (test.points ?? 1) : 0), 0);
    return { name, score, points: points ?? own, after, stop };
  });
}

/** Whether the verdict on one test decides whether another test is run. */
export function asksWords(groups: readonly GroupRecord[]): boolean {
  return groups.some(({ stop, after }) => stop || after.length > 0);
}

/** The group of a plan without groups. */
export const ALL_TESTS = 'all';

export function groupOf({ group }: PlannedTest, groups: readonly GroupRecord[]): string {
  return group ?? (groups[0] as GroupRecord).name;
}
