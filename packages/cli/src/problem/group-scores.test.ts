/** Scoring packages in each format: the points of their groups and tests, and the refusal of points that cannot be added up. */
import { describe, expect, test } from 'vitest';
import { plain, read } from './package.fixture.ts';

const scoring = { ...plain, 'problem.yaml': 'type: scoring\n' };

describe('a scoring package', () => {
  test('in the legacy format scores a group by its lowest test or by the sum of its tests', async () => {
    const { groups, tests } = await read({
      ...scoring,
      'data/testdata.yaml': 'grader_flags: ignore_sample\n',
      'data/secret/testdata.yaml': 'grader_flags: sum\non_reject: continue\n',
      'data/secret/a/testdata.yaml': 'grader_flags: min\naccept_score: 40\non_reject: break\n',
      'data/secret/b/testdata.yaml': 'accept_score: 30\non_reject: continue\n',
      'data/secret/b/1.in': '',
      'data/secret/b/1.ans': '',
    });
    expect(groups).toEqual([
      { name: 'sample', stop: true, after: [] },
      { name: 'secret/a', score: 'minimum', points: 40, stop: true, after: ['sample'] },
      { name: 'secret/b', stop: false, after: ['sample'] },
    ]);
    expect(tests.map(({ group, points }) => [group, points])).toEqual([
      ['sample', 0],
      ['secret/a', 0],
      ['secret/b', 30],
    ]);
  });

  test('in the draft format divides the remaining points among the groups without a score', async () => {
    const { groups, tests } = await read({
      ...scoring,
      'problem.yaml': 'problem_format_version: 2023-07-draft\ntype: [scoring]\n',
      'data/secret/a/test_group.yaml': 'scoring: {score: 30}\n',
      'data/secret/b/1.in': '',
      'data/secret/b/1.ans': '',
      'data/secret/c/test_group.yaml': 'scoring: {aggregation: sum}\n',
      'data/secret/c/1.in': '',
      'data/secret/c/1.ans': '',
    });
    expect(groups.map(({ name, points }) => [name, points])).toEqual([
      ['sample', undefined],
      ['secret/a', 30],
      ['secret/b', 35],
      ['secret/c', undefined],
    ]);
    expect(tests.map(({ points }) => points)).toEqual([0, 0, 0, 35]);
  });

  test.each([
    ['a grader of its own', { 'data/testdata.yaml': 'grading: custom\n' }, /a grader of its own cannot be counted/],
    ['an average', { 'data/secret/a/testdata.yaml': 'grader_flags: avg\n' }, /data\/secret\/a: avg cannot be counted/],
    [
      'the smallest score of groups',
      { 'data/secret/testdata.yaml': 'grader_flags: min\n' },
      /data\/secret: the smallest score of groups/,
    ],
    ['points for failure', { 'data/secret/a/testdata.yaml': 'reject_score: 2\n' }, /points for rejected tests/],
    ['groups in groups', { 'data/secret/a/b/1.in': '', 'data/secret/a/b/1.ans': '' }, /groups in groups/],
    [
      'a group that passes if one test is accepted, and a group that waits for it',
      {
        'data/secret/a/testdata.yaml': 'grader_flags: accept_if_any_accepted\n',
        'data/secret/b/1.in': '',
        'data/secret/b/1.ans': '',
      },
      /data\/secret\/a: accept_if_any_accepted/,
    ],
  ])('that uses %s is refused', async (_what, files, says) => {
    await expect(read({ ...scoring, ...files })).rejects.toThrow(says);
  });

  test('inherits each key that a directory lacks from the nearest settings above it', async () => {
    const { groups, tests } = await read({
      ...scoring,
      'data/testdata.yaml': 'on_reject: continue\naccept_score: 7\n',
      'data/secret/testdata.yaml': 'output_validator_flags: case_sensitive\n',
      'data/secret/a/testdata.yaml': 'grader_flags: min\n',
      'data/secret/a/1.ans': 'Yes\n',
    });
    expect(groups.find(({ name }) => name === 'secret/a')).toEqual({
      name: 'secret/a',
      score: 'minimum',
      points: 7,
      stop: false,
      after: [],
    });
    expect(tests.map(({ compare }) => compare)).toEqual(['words', 'words']);
  });

  test('makes no group depend on a group that is always accepted', async () => {
    const { groups } = await read({
      ...scoring,
      'data/secret/a/testdata.yaml': 'grader_flags: always_accept\n',
      'data/secret/b/1.in': '',
      'data/secret/b/1.ans': '',
    });
    expect(groups.at(-1)).toMatchObject({ name: 'secret/b', after: ['sample'] });
  });
});

describe('a package whose validator gives points', () => {
  const validator = { 'output_validators/v.py': 'import sys; sys.exit(42)' };
  const scored = {
    ...scoring,
    ...validator,
    'problem.yaml': 'type: scoring\nvalidation: custom score\n',
    'data/testdata.yaml': 'on_reject: continue\ngrader_flags: ignore_sample\nrange: 0 100\n',
    'data/secret/testdata.yaml': 'grader_flags: accept_if_any_accepted\n',
    'data/secret/a/testdata.yaml': 'grader_flags: min\nrange: 0 60\n',
    'data/secret/b/testdata.yaml': 'grader_flags: sum\nrange: 0 40.5\n',
    'data/secret/b/1.in': '',
    'data/secret/b/1.ans': '',
  };

  test('gives each group the upper end of its range as points, and leaves out samples without points', async () => {
    const { groups, tests, notes, checker } = await read(scored);
    expect(groups).toEqual([
      { name: 'secret/a', score: 'minimum', points: 60, stop: false, after: [] },
      { name: 'secret/b', score: 'minimum', points: 40.5, stop: false, after: [] },
    ]);
    expect(tests.map(({ name, points }) => [name, points])).toEqual([
      ['secret/a/1', 60],
      ['secret/b/1', 40.5],
    ]);
    expect(notes).toContainEqual(expect.stringContaining('the samples are not run'));
    expect(checker?.codes).toBe('kattis');
  });

  test.each<[string, Record<string, string>, RegExp]>([
    ['no range', { 'data/secret/b/testdata.yaml': '' }, /data\/secret\/b: a score of a validator without a range/],
    ['no bound', { 'data/secret/b/testdata.yaml': 'range: 0 +inf\n' }, /data\/secret\/b: range: 0 \+inf/],
    ['points below zero', { 'data/secret/b/testdata.yaml': 'range: -1 40\n' }, /data\/secret\/b: range: -1 40/],
    [
      'several tests that are added up',
      { 'data/secret/b/2.in': '', 'data/secret/b/2.ans': '' },
      /data\/secret\/b: the sum of scores that a validator gives to several tests/,
    ],
    ['a break', { 'data/testdata.yaml': 'range: 0 100\n' }, /data\/: on_reject: break between groups/],
    [
      'a break after samples',
      { 'data/testdata.yaml': 'grader_flags: ignore_sample\nrange: 0 100\n' },
      /data\/: on_reject: break after samples/,
    ],
    ['accept_score too', { 'data/secret/a/testdata.yaml': 'accept_score: 2\nrange: 0 60\n' }, /an accept_score beside/],
    [
      'an objective of the fewest points',
      { 'problem.yaml': 'type: scoring\nvalidation: custom score\ngrading: {objective: min}\n' },
      /objective: min/,
    ],
  ])('is refused with %s', async (_what, files, says) => {
    await expect(read({ ...scored, ...files })).rejects.toThrow(says);
  });
});

describe('a package of format 2025-09 that counts points', () => {
  const later = {
    ...plain,
    'problem.yaml': 'problem_format_version: 2025-09\ntype: [scoring]\n',
    'data/secret/a/test_group.yaml': 'max_score: 30\nargs: [--fast]\n',
    'data/secret/b/test_group.yaml': 'max_score: 50\nscore_aggregation: sum\n',
    'data/secret/b/deep/1.in': '',
    'data/secret/b/deep/1.ans': '',
    'data/secret/b/deep/2.in': '',
    'data/secret/b/deep/2.ans': '',
    'data/secret/c/test_group.yaml': 'max_score: 20\nscore_aggregation: min\nrequire_pass: [sample, secret/a]\n',
    'data/secret/c/1.in': '',
    'data/secret/c/1.ans': '',
  };

  test('may have pass-fail groups, groups that add up their tests, and groups that count only their lowest test', async () => {
    const { groups, tests } = await read(later);
    expect(groups).toEqual([
      { name: 'sample', score: 'minimum', points: 0, stop: false, after: [] },
      { name: 'secret/a', score: 'minimum', points: 30, stop: false, after: [] },
      { name: 'secret/b', stop: false, after: [] },
      { name: 'secret/c', score: 'minimum', points: 20, stop: false, after: ['sample', 'secret/a'] },
    ]);
    expect(tests.map(({ group, points, args }) => [group, points, args])).toEqual([
      ['sample', 0, undefined],
      ['secret/a', 0, ['--fast']],
      ['secret/b', 25, undefined],
      ['secret/b', 25, undefined],
      ['secret/c', 20, undefined],
    ]);
  });

  test('without groups divides the points of `secret` among the tests', async () => {
    const { groups, tests } = await read({
      ...plain,
      'problem.yaml': 'problem_format_version: 2025-09\ntype: scoring\n',
      'data/secret/2.in': '',
      'data/secret/2.ans': '',
    });
    expect(groups.map(({ name }) => name)).toEqual(['sample', 'secret']);
    expect(tests.map(({ group, points }) => [group, points])).toEqual([
      ['sample', 0],
      ['secret', 50],
      ['secret', 50],
    ]);
  });

  test('lets its validator give points to samples, unless a group depends on the samples', async () => {
    const validator = { 'output_validator/v.py': '' };
    const sampleOf = async (files: Record<string, string>) =>
      (await read({ ...later, ...validator, ...files })).tests[0];
    expect((await sampleOf({}))?.points).toBe(0);
    expect((await sampleOf({ 'data/secret/c/test_group.yaml': 'max_score: 20\n' }))?.points).toBe(100);
  });

  test.each<[string, Record<string, string>, RegExp]>([
    [
      'a group without a bound',
      { 'data/secret/a/test_group.yaml': '' },
      /data\/secret\/a: a score without a max_score/,
    ],
    ['no bound at all', { 'data/secret/test_group.yaml': 'max_score: unbounded\n' }, /data\/secret: a score without/],
    ['too many points', { 'data/secret/a/test_group.yaml': 'max_score: 31\n' }, /groups with more points than/],
    ['tests beside groups', { 'data/secret/1.in': '', 'data/secret/1.ans': '' }, /data\/secret: tests beside groups/],
    ['groups in groups', { 'data/secret/b/deep/test_group.yaml': '' }, /data\/secret\/b\/deep: groups in groups/],
    [
      'the smallest score of groups',
      { 'data/secret/test_group.yaml': 'score_aggregation: min\n' },
      /data\/secret: groups that are not added up/,
    ],
    [
      'a static validator',
      { 'data/secret/a/test_group.yaml': 'max_score: 30\nstatic_validation_score: 5\n' },
      /what a static validator says/,
    ],
    [
      'a group that waits for a group whose tests are added up',
      { 'data/secret/c/test_group.yaml': 'max_score: 20\nrequire_pass: secret/b\n' },
      /data\/secret\/c: require_pass: secret\/b/,
    ],
    [
      'a group that waits for a later one',
      { 'data/secret/a/test_group.yaml': 'max_score: 30\nrequire_pass: secret/c\n' },
      /data\/secret\/a: require_pass: secret\/c/,
    ],
  ])('is refused with %s', async (_what, files, says) => {
    await expect(read({ ...later, ...files })).rejects.toThrow(says);
  });
});
