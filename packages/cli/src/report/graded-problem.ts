/** A grading as a person wants to see it: each test with its cost, each group with its points. */
import type { GradeResult, RunResult } from '@vouchbox/client';
import type { Problem } from '../problem/problem.ts';

export interface GradedProblem {
  readonly title: string;
  /** File name of the program, and its language. */
  readonly program: string;
  readonly accepted: boolean;
  readonly points: number;
  readonly pointsMax: number;
  readonly tests: readonly GradedTest[];
  readonly groups: readonly GradedGroup[];
  readonly judge: string;
}

export interface GradedTest {
  readonly name: string;
  readonly verdict: string;
  readonly points: number;
  readonly pointsMax: number;
  /** The CPU time that the verdict states; null if the usage of the program alone is not known. */
  readonly cpuMs: number | null;
  readonly wallMs: number | null;
  readonly memoryBytes: number | null;
  /** Null if the program was not run in this test. */
  readonly job: string | null;
  /** Why the program was not run in this test; null if it was run. */
  readonly remark: string | null;
  /** The texts of a sample; null for any other test, because a report must not reveal secret data. */
  readonly texts: {
    readonly input: string;
    readonly expected: string;
    readonly output: string;
    readonly errors: string;
  } | null;
}

export interface GradedGroup {
  readonly name: string;
  readonly acceptedTests: number;
  readonly tests: number;
  readonly points: number;
  readonly pointsMax: number;
}

export interface Seen {
  readonly program: string;
  readonly runs: ReadonlyMap<string, RunResult>;
}

/** @param seen how each test ran, by its name */
export function gradedProblem(problem: Problem, graded: GradeResult, { program, runs }: Seen): GradedProblem {
  const { verdict, notRun, job_id } = graded;
  const given = new Map(problem.tests.map((test) => [test.name, test]));
  const tests = verdict.tests.map(({ name, verdict: word, points, points_max, run }) => {
    const seen = runs.get(name);
    const test = given.get(name);
    const texts = test?.isSample
      ? {
          input: test.stdin ?? '',
          expected: test.expected ?? '',
          output: seen?.stdout ?? '',
          errors: seen?.stderr ?? '',
        }
      : null;
    return {
      name,
      verdict: word,
      points,
      pointsMax: points_max,
      job: run?.job_id ?? null,
      texts,
      cpuMs: run?.cpu_ms ?? null,
      wallMs: run?.wall_ms ?? null,
      memoryBytes: run?.memory_peak_bytes ?? null,
      remark: notRun.get(name) ?? null,
    };
  });
  const groups = problem.groups.length === 0 ? [] : verdict.groups;
  return {
    title: problem.name ?? 'Grading',
    program,
    accepted: verdict.accepted,
    points: verdict.points,
    pointsMax: verdict.points_max,
    tests,
    groups: groups.map(({ name, points, points_max }) => {
      const own = verdict.tests.filter(({ group }) => group === name);
      const acceptedTests = own.filter(({ verdict: word }) => word === 'accepted').length;
      return { name, acceptedTests, tests: own.length, points, pointsMax: points_max };
    }),
    judge: job_id,
  };
}

type Points = Pick<GradedTest, 'points' | 'pointsMax'>;

/** Points with at most two decimals: a share of a hundred points may have many. */
export function pointsText({ points, pointsMax }: Points, between: string): string {
  return [points, pointsMax].map((number) => Math.round(number * 100) / 100).join(between);
}

/** The points of a test or a group; a dash if it has no points to win. */
export function shareText(won: Points, between: string): string {
  return won.pointsMax === 0 ? '–' : pointsText(won, between);
}

export function durationText(ms: number | null): string {
  if (ms === null) return '';
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(2)} s`;
}

export function memoryText(bytes: number | null): string {
  return bytes === null ? '' : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
