/** A grading in a form for people: each test with its cost, each group with its points. */
import type { GradeResult, RunResult } from '@vouchbox/client';
import type { Problem } from '../problem/problem.ts';

type Verdict = GradeResult['verdict'];
type Line = Verdict['tests'][number];
type Cost = Pick<NonNullable<Line['run']>, 'job_id' | 'cpu_ms' | 'wall_ms' | 'memory_peak_bytes'>;

export interface GradedProblem extends Pick<Verdict, 'accepted' | 'points' | 'points_max'> {
  readonly title: string;
  /** The program's file name and language. */
  readonly program: string;
  readonly tests: readonly GradedTest[];
  readonly groups: readonly GradedGroup[];
  readonly judge: string;
}

export interface GradedTest extends Pick<Line, 'name' | 'verdict' | 'points' | 'points_max'> {
  /** Null if the program was not run in this test. A part of the cost is null if it is not known for the program alone. */
  readonly run: Cost | null;
  /** Why the program was not run in this test; null if it was run. */
  readonly remark: string | null;
  /** A sample's texts; null for any other test, because a report must not reveal secret data. */
  readonly texts: Readonly<Record<'input' | 'expected' | 'output' | 'errors', string>> | null;
}

export interface GradedGroup extends Pick<Verdict['groups'][number], 'name' | 'points' | 'points_max'> {
  readonly acceptedTests: number;
  readonly tests: number;
}

export interface Seen {
  readonly program: string;
  readonly runs: ReadonlyMap<string, RunResult>;
}

/** Combines a problem with its grading, and with how each test ran. */
export function gradedProblem(problem: Problem, graded: GradeResult, { program, runs }: Seen): GradedProblem {
  const { verdict, notRun, job_id } = graded;
  const given = new Map(problem.tests.map((test) => [test.name, test]));
  const tests = verdict.tests.map((line) => {
    const test = given.get(line.name);
    const { stdout: output = '', stderr: errors = '' } = runs.get(line.name) ?? {};
    const texts = test?.isSample ? { input: test.stdin ?? '', expected: test.expected ?? '', output, errors } : null;
    return { ...line, texts, remark: notRun.get(line.name) ?? null };
  });
  const groups = problem.groups.length === 0 ? [] : verdict.groups;
  return {
    ...verdict,
    title: problem.name ?? 'Grading',
    program,
    tests,
    groups: groups.map((group) => {
      const own = verdict.tests.filter((test) => test.group === group.name);
      return { ...group, tests: own.length, acceptedTests: own.filter((test) => test.verdict === 'accepted').length };
    }),
    judge: job_id,
  };
}

type Points = Pick<GradedTest, 'points' | 'points_max'>;

/** Points with at most two decimals. A share of the points could have many more. */
export function pointsText({ points, points_max }: Points, between: string): string {
  return [points, points_max].map((number) => Math.round(number * 100) / 100).join(between);
}

/** The points of a test or a group; a dash if there are no points to win. */
export function shareText(won: Points, between: string): string {
  return won.points_max === 0 ? '–' : pointsText(won, between);
}

export function durationText(ms: number | null = null): string {
  if (ms === null) return '';
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(2)} s`;
}

export function memoryText(bytes: number | null = null): string {
  return bytes === null ? '' : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
