/** A grading with what a person wants to see of it: each test with its cost, each group with its points. */
import type { GradeResult, RunResult } from '@vouchbox/client';
import type { Problem, ProblemGroup } from '../problem/problem.ts';

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
  readonly cpuMs: number | null;
  readonly wallMs: number | null;
  readonly memoryBytes: number | null;
  readonly job: string;
  /** Why it was not run; null if it was. */
  readonly remark: string | null;
  /** Of a sample alone: nobody should find out from a report what is secret. */
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
  const tests = verdict.tests.map(({ name, verdict: word, points, points_max, job_id: job }) => {
    const run = runs.get(name);
    const { resource_usage, program_usage = resource_usage } = run?.receipt ?? {};
    const { cpu_ms = null, wall_ms = null, memory_peak_bytes = null } = program_usage ?? {};
    const test = given.get(name);
    const texts = test?.isSample
      ? { input: test.stdin ?? '', expected: test.expected ?? '', output: run?.stdout ?? '', errors: run?.stderr ?? '' }
      : null;
    return {
      ...{ name, verdict: word, points, pointsMax: points_max, job, texts },
      ...{ cpuMs: cpu_ms, wallMs: wall_ms, memoryBytes: memory_peak_bytes },
      remark: notRun.get(name) ?? null,
    };
  });
  const groups = countGroups(problem.groups, (name) => tests.filter((test) => given.get(test.name)?.group === name));
  const counted = groups.length > 0 ? groups : tests;
  return {
    title: problem.name ?? 'Grading',
    program,
    accepted: verdict.accepted,
    points: sum(counted.map(({ points }) => points)),
    pointsMax: sum(counted.map(({ pointsMax }) => pointsMax)),
    tests,
    groups,
    judge: job_id,
  };
}

function countGroups(groups: readonly ProblemGroup[], testsOf: (name: string) => readonly GradedTest[]): GradedGroup[] {
  const failed = new Set<string>();
  return groups.map(({ name, points, stops, after }) => {
    const own = testsOf(name);
    const accepted = own.filter(({ verdict }) => verdict === 'accepted').length;
    if (accepted < own.length) failed.add(name);
    const firstBad = own.findIndex(({ verdict }) => verdict !== 'accepted');
    const added = stops && firstBad >= 0 ? own.slice(0, firstBad) : own;
    const whole = accepted === own.length ? points : 0;
    const won = points === null ? sum(added.map((test) => test.points)) : (whole ?? 0);
    return {
      ...{ name, acceptedTests: accepted, tests: own.length },
      points: after.some((other) => failed.has(other)) ? 0 : won,
      pointsMax: points ?? sum(own.map((test) => test.pointsMax)),
    };
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

type Points = Pick<GradedTest, 'points' | 'pointsMax'>;

/** Points as people write them: shares of a hundred have many digits. */
export function pointsText({ points, pointsMax }: Points, between: string): string {
  return [points, pointsMax].map((number) => Math.round(number * 100) / 100).join(between);
}

/** The same of a test or a group, of which some count nothing by themselves. */
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
