/** The points of groups, from the verdicts of their tests. */
import type { GradeResult } from '@vouchbox/client';
import { expect, test } from 'vitest';
import type { Problem, ProblemGroup } from '../problem/problem.ts';
import { gradedProblem } from './graded-problem.ts';

type Group = Partial<ProblemGroup> & { readonly tests: string };

/** Each test is a letter: `a` was accepted, and all of them count 10 by themselves. */
function pointsOf(groups: Readonly<Record<string, Group>>): readonly number[] {
  const tests = Object.entries(groups).flatMap(([group, { tests: words }]) =>
    Array.from(words, (word, at) => ({ name: `${group}/${at}`, group, isGood: word === 'a' })),
  );
  const verdicts = tests.map(({ name, isGood }) => ({
    ...{ name, verdict: isGood ? 'accepted' : 'wrong_answer', points: isGood ? 10 : 0, points_max: 10 },
  }));
  const graded = {
    verdict: { tests: verdicts, accepted: false },
    notRun: new Map(),
    job_id: 'j',
  } as unknown as GradeResult;
  const listed = Object.entries(groups).map(([name, given]) => ({
    ...{ name, points: null, stops: false, after: [] },
    ...given,
  }));
  const problem = { name: null, tests, groups: listed } as unknown as Problem;
  const { points, groups: counted } = gradedProblem(problem, graded, { program: 'p', runs: new Map() });
  return [...counted.map((group) => group.points), points];
}

test('a group of which the smallest test counts is won whole or not at all', () => {
  expect(pointsOf({ a: { tests: 'aa', points: 40 }, b: { tests: 'ax', points: 60 } })).toEqual([40, 0, 40]);
});

test('tests are added up, and no further than to the first bad one where that ends the group', () => {
  expect(pointsOf({ a: { tests: 'axa' }, b: { tests: 'axa', stops: true } })).toEqual([20, 10, 30]);
});

test('a group counts nothing after one that was not accepted whole, also if that one counts nothing', () => {
  const groups = { a: { tests: 'x' }, b: { tests: 'a', after: ['a'] }, c: { tests: 'a' } };
  expect(pointsOf(groups)).toEqual([0, 0, 10, 10]);
});
