/**
 * The rules of a verdict: how a run's end, a checker's findings and the groups decide the verdict on a test. The judge follows
 * the same rules in Python. A running grading uses them to find which tests are still needed; a verifier applies them again.
 */
import type {
  CheckRecord,
  GroupRecord,
  GroupResult,
  JudgedProgram,
  RunRecord,
  SaidPoints,
  TestVerdict2,
} from './grading-record.ts';

/** The verdict on a test, and how many of its points the test has won. */
export interface Won {
  readonly verdict: TestVerdict2;
  readonly points: number;
}

/** What is known about a test before groups are considered. */
export interface Ran {
  readonly points: number;
  readonly run: RunRecord | null;
  readonly is_cut: boolean;
  readonly check: CheckRecord | null;
  readonly validations: readonly CheckRecord[];
  /** Whether the output equals the expected output, if no other job decides that. */
  readonly isAlike: boolean;
}

const ENDS: Readonly<Record<string, TestVerdict2>> = {
  wall_limit: 'time_limit',
  cpu_limit: 'time_limit',
  memory_limit: 'memory_limit',
  signaled: 'runtime_error',
};

/** The points of a test before its group is considered. */
export function wonAlone(test: Ran, { build }: Pick<JudgedProgram, 'build'>): Won {
  if (!test.validations.every(isValid)) return nothing('invalid_input');
  const compiler = build === null ? (test.run?.compiler ?? null) : build.compiler;
  if (compiler !== null) return nothing(compiler === 'error' ? 'compile_error' : 'compile_limit');
  const { run } = test;
  if (run === null) return nothing('not_run');
  if (run.terminal_reason !== 'exited') return nothing(ENDS[run.terminal_reason ?? ''] ?? 'not_run');
  if (run.exit_code !== 0) return nothing('runtime_error');
  if (test.is_cut) return nothing('output_limit');
  if (test.check !== null) return wonByCheck(test.check, test.points);
  return test.isAlike ? { verdict: 'accepted', points: test.points } : nothing('wrong_answer');
}

function nothing(verdict: TestVerdict2): Won {
  return { verdict, points: 0 };
}

/** testlib refuses a wrong answer, a wrong form, text after the expected end, and an end that comes too early. */
const REFUSED = { testlib: [1, 2, 4, 8], kattis: [43] } as const;
const ACCEPTED = { testlib: 0, kattis: 42 } as const;
const testlibPoints = 7;

function isValid({ terminal_reason, exit_code, codes }: CheckRecord): boolean {
  return terminal_reason === 'exited' && exit_code === ACCEPTED[codes];
}

function wonByCheck(check: CheckRecord, points: number): Won {
  const { terminal_reason, exit_code, codes, said } = check;
  if (terminal_reason !== 'exited' || exit_code === null) return nothing('checker_failed');
  const refused: readonly number[] = REFUSED[codes];
  if (refused.includes(exit_code)) return nothing('wrong_answer');
  if (codes === 'testlib' && exit_code === testlibPoints)
    return said === null ? nothing('checker_failed') : part(said, points);
  if (exit_code !== ACCEPTED[codes]) return nothing('checker_failed');
  return said === null || codes === 'testlib' ? { verdict: 'accepted', points } : part(said, points);
}

const POINTS = /^[ \t\r\n]*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?[ \t\r\n]*$/;
/**
 * Points from a checker. A value is the checker's mistake if it is no number, is negative or exceeds the points of the test.
 */
function part({ kind, text }: SaidPoints, most: number): Won {
  if (!POINTS.test(text)) return nothing('checker_failed');
  const points = kind === 'part' ? Number(text) * most : Number(text);
  if (!(points >= 0 && points <= most)) return nothing('checker_failed');
  if (points === most) return { verdict: 'accepted', points };
  return points === 0 ? nothing('wrong_answer') : { verdict: 'partial', points };
}

/** A test in its group. `won` is null until it is known. */
export interface Placed {
  readonly group: string;
  readonly points: number;
  readonly won: Won | null;
}

/** The state of a test in its group: it counts, it is skipped, or other tests must end first. */
export type Place = 'counts' | 'skipped' | 'waits';

/** The state of each test in its group, in the order of the tests. */
export function placesOf(groups: readonly GroupRecord[], tests: readonly Placed[]): readonly Place[] {
  const places: Place[] = tests.map(() => 'waits');
  const passed = new Map<string, boolean | null>();
  for (const group of groups) {
    const before = group.after.map((name) => passed.get(name) ?? null);
    let place: Place = before.includes(false) ? 'skipped' : before.includes(null) ? 'waits' : 'counts';
    let isPassed: boolean | null = place !== 'skipped';
    for (const [at, { group: name, won }] of tests.entries()) {
      if (name !== group.name) continue;
      places[at] = place;
      if (place !== 'counts') continue;
      isPassed =
        isPassed === false || (won !== null && won.verdict !== 'accepted') ? false : won === null ? null : isPassed;
      if (!group.stop) continue;
      if (won === null) place = 'waits';
      else if (won.verdict !== 'accepted' && won.verdict !== 'partial') place = 'skipped';
    }
    passed.set(group.name, place === 'waits' && isPassed !== false ? null : isPassed);
  }
  return places;
}

export interface Score {
  readonly tests: readonly Won[];
  readonly groups: readonly GroupResult[];
  readonly accepted: boolean;
  readonly points: number;
  readonly points_max: number;
}

/** The whole score, once all tests that count are known. Sums run from the first test to the last, so they equal the judge's. */
export function scoreOf(groups: readonly GroupRecord[], tests: readonly (Placed & { readonly won: Won })[]): Score {
  const places = placesOf(groups, tests);
  const won = tests.map(({ won }, at) => (places[at] === 'counts' ? won : nothing('skipped')));
  const rows = groups.map((group) => {
    const members = tests.flatMap(({ group: name, points }, at) =>
      name === group.name ? [{ most: points, ...(won[at] as Won) }] : [],
    );
    return groupResult(group, members);
  });
  return {
    tests: won,
    groups: rows,
    accepted: won.every(({ verdict }) => verdict === 'accepted'),
    points: sum(rows.map(({ points }) => points)),
    points_max: sum(rows.map(({ points_max }) => points_max)),
  };
}

function groupResult(
  { name, score, points, after, stop }: GroupRecord,
  members: readonly (Won & { readonly most: number })[],
): GroupResult {
  const passed = members.every(({ verdict }) => verdict === 'accepted');
  const result = { name, score, after, stop, passed };
  if (score === 'sum') {
    return {
      ...result,
      points: sum(members.map((one) => one.points)),
      points_max: sum(members.map(({ most }) => most)),
    };
  }
  const parts = members.map((one) => (one.verdict === 'accepted' ? 1 : one.most > 0 ? one.points / one.most : 0));
  return { ...result, points: points * Math.min(1, ...parts), points_max: points };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** The facts about a run that decide whether the run is repeated. */
export interface Timed {
  readonly terminal_reason: string | null;
  readonly cpu_ms: number | null;
  readonly cpu_limit_ms: number | null;
}

/** Whether a run reached its wall limit because it slept or processors were busy. Such a run is repeated once. */
export function isStarved({ terminal_reason, cpu_ms, cpu_limit_ms }: Timed): boolean {
  return terminal_reason === 'wall_limit' && (cpu_ms === null || cpu_limit_ms === null || cpu_ms * 2 < cpu_limit_ms);
}
