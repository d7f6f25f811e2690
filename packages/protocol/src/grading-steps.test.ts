/** The steps of a grading, with programs that end as each case says. */
import { describe, expect, test } from 'vitest';
import { type JobEnd, type PlannedJob, STDOUT_FILE } from './grading-job.ts';
import { CHECKED_FILES, COMPARER, JUDGE_2 } from './grading-judge.ts';
import { type GradingPlan, type PlannedProgram, planProblem } from './grading-plan.ts';
import type { Grading2, JudgedTest } from './grading-record.ts';
import { wonAlone } from './grading-score.ts';
import { type Abilities, nextJobs } from './grading-steps.ts';

const ALL: Abilities = { large_outputs: true, build: true };
const NONE: Abilities = { large_outputs: false, build: false };
const PYTHON: PlannedProgram = { language: 'python', code: 'program' };
const CPP: PlannedProgram = { language: 'cpp', code: 'program' };

/** The end of a job that went well. */
function ended(name: string, more: Partial<JobEnd> = {}): JobEnd {
  return {
    job_id: `job of ${name}`,
    receipt_sha256: 'a'.repeat(64),
    terminal_reason: 'exited',
    exit_code: 0,
    stdout: '',
    stderr: '',
    truncated: false,
    violations: [],
    code_sha256: 'c'.repeat(64),
    stdin_sha256: null,
    stdout_sha256: 'd'.repeat(64),
    cpu_limit_ms: 2000,
    usage: { cpu_ms: 10, wall_ms: 20, memory_peak_bytes: 30 },
    programUsage: null,
    inputs: [],
    outputs: [],
    ...more,
  };
}

interface Drive {
  readonly program?: PlannedProgram;
  readonly abilities?: Abilities;
  /** How the jobs with these names end. All other jobs go well. */
  readonly ends?: Readonly<Record<string, Partial<JobEnd>>>;
}

/** Drives a grading to its end. Returns the names of each round's jobs, all jobs, and the judge's input. */
function drive(plan: GradingPlan, { program = PYTHON, abilities = ALL, ends: said = {} }: Drive = {}) {
  expect(planProblem(plan)).toBeNull();
  const ends = new Map<string, JobEnd>();
  const rounds: string[][] = [];
  const jobs = new Map<string, PlannedJob>();
  for (;;) {
    const due = nextJobs({ plan, program, ends, abilities });
    rounds.push(due.map(({ name }) => name));
    for (const job of due) {
      expect(ends.has(job.name)).toBe(false);
      jobs.set(job.name, job);
      ends.set(job.name, ended(job.name, said[job.name]));
    }
    const judge = jobs.get('judge');
    if (judge === undefined) continue;
    expect(nextJobs({ plan, program, ends, abilities })).toEqual([]);
    const [file] = judge.submission.files ?? [];
    const given: Grading2 = JSON.parse(file !== undefined && 'text' in file ? file.text : '');
    return { rounds, jobs, given, submission: (name: string) => jobs.get(name)?.submission };
  }
}

const text = (text: string) => ({ text });
const two: GradingPlan = {
  tests: [
    { name: 'one', stdin: text('1'), expected: text('2') },
    { name: 'two', expected: text('3') },
  ],
};

test('tests with small outputs run at the same time, and the judge compares the outputs itself', () => {
  const { rounds, given, submission } = drive(two, { ends: { 'test 1': { stdout: '2\n' } } });
  expect(rounds).toEqual([['test 1', 'test 2'], ['judge']]);
  expect(submission('judge')).toMatchObject({ language: 'python', code: JUDGE_2 });
  expect(given.tests[0]).toMatchObject({ stdout: '2\n', expected: '2', run: { cpu_ms: 10, account: 'cell' } });
  expect(submission('test 1')).toMatchObject({ stdin: text('1'), large_outputs: { stdout: STDOUT_FILE } });
  expect(JSON.stringify(submission('test 1'))).not.toContain('secret');
});

test('a compiled program is built once, and each test starts the built product', () => {
  const { rounds, submission, given } = drive(two, { program: { ...CPP, options: ['-O3'] } });
  expect(rounds).toEqual([['build'], ['test 1', 'test 2'], ['judge']]);
  expect(submission('build')).toMatchObject({ code: 'program', build: { options: ['-O3'] } });
  expect(submission('test 2')).toMatchObject({ code: 'program', product: { job_id: 'job of build' } });
  expect(given.program.build).toMatchObject({ job_id: 'job of build', compiler: null });
});

test.each([
  [{ terminal_reason: 'compile_failed', stderr: 'main.cpp:1:1: error: no' }, 'error'],
  [{ terminal_reason: 'cpu_limit' }, 'limit'],
])('no test runs if the build of the program fails', (end, compiler) => {
  const { rounds, given } = drive(two, { program: CPP, ends: { build: { ...end, exit_code: null } } });
  expect(rounds).toEqual([['build'], ['judge']]);
  expect([given.program.build?.compiler, given.tests.map(({ run }) => run)]).toEqual([compiler, [null, null]]);
});

test('a test states the time and memory that the receipt gives for the program alone, with or without a compiler', () => {
  const programUsage = { cpu_ms: 1, wall_ms: 2, memory_peak_bytes: null, account: 'guest' } as const;
  for (const program of [PYTHON, CPP]) {
    const { given } = drive(two, { program, abilities: NONE, ends: { 'test 1': { programUsage } } });
    expect(given.tests[0]?.run).toMatchObject(programUsage);
  }
});

test('a test of a compiled program has no times if the service cannot build separately', () => {
  const { rounds, given } = drive(two, { program: CPP, abilities: NONE });
  expect(rounds).toEqual([['test 1', 'test 2'], ['judge']]);
  expect(given.tests[0]?.run).toMatchObject({ cpu_ms: null, wall_ms: null, memory_peak_bytes: null, account: null });
});

describe('the wall limit of a test', () => {
  const met = { terminal_reason: 'wall_limit', exit_code: null };
  test('is more than three times its processor limit', () => {
    const { submission } = drive({ ...two, limits: { cpu_seconds: 4 } });
    expect(submission('test 1')?.limits).toEqual({ cpu_seconds: 4, wall_seconds: 14 });
  });
  test('must be reached in two runs before it counts, if the program got too little processor time', () => {
    const { rounds, given } = drive(two, { ends: { 'test 1': met } });
    expect(rounds).toEqual([['test 1', 'test 2'], ['test 1 again'], ['judge']]);
    expect(given.tests[0]).toMatchObject({
      starved: { job_id: 'job of test 1' },
      run: { job_id: 'job of test 1 again' },
    });
  });
  test('counts without a second run if the program used at least half of its processor limit', () => {
    const used = { cpu_ms: 1000, wall_ms: 1, memory_peak_bytes: 1 };
    const { rounds, given } = drive(two, { ends: { 'test 1': { ...met, usage: used } } });
    expect([rounds.length, given.tests[0]?.starved]).toEqual([2, null]);
  });
});

describe('a long output of a test', () => {
  const large = 'x'.repeat(2 << 20);
  test('is compared with the expected output in a separate job, and is named by its digest', () => {
    const plan: GradingPlan = { tests: [{ name: 'one', expected: text(large), compare: { floats: { absolute: 1 } } }] };
    const kept = { truncated: true, outputs: [{ path: STDOUT_FILE, sha256: 'e'.repeat(64) }] };
    const check = { exit_code: 42, inputs: [{ path: CHECKED_FILES.expected, sha256: 'f'.repeat(64) }] };
    const { rounds, submission, given } = drive(plan, { ends: { 'test 1': kept, 'check 1': check } });
    expect(rounds).toEqual([['test 1'], ['check 1'], ['judge']]);
    expect(submission('check 1')).toMatchObject({ code: COMPARER, args: ['{"floats":{"absolute":1}}'] });
    expect(submission('check 1')?.files).toEqual([
      { path: CHECKED_FILES.output, from: { job_id: 'job of test 1', path: STDOUT_FILE } },
      { path: CHECKED_FILES.expected, text: large, secret: true },
    ]);
    expect(given.tests[0]).toMatchObject({
      is_cut: false,
      stdout: null,
      expected: null,
      stdout_sha256: 'd'.repeat(64),
      expected_sha256: 'f'.repeat(64),
      check: { codes: 'kattis', exit_code: 42 },
    });
  });
  test('is not compared if its end was not stored', () => {
    const { given } = drive(two, { abilities: NONE, ends: { 'test 1': { truncated: true } } });
    expect(given.tests[0]).toMatchObject({ is_cut: true, check: null });
  });
  test('is named in the verdict by the digest of the file that the checker read, if it is neither valid UTF-8 nor kept', () => {
    const inputs = [{ path: CHECKED_FILES.output, sha256: 'f'.repeat(64) }];
    const ends = { 'test 1': { stdout: '\ufffd' }, 'check 1': { inputs } };
    const { given } = drive({ ...two, checker: PYTHON }, { abilities: NONE, ends });
    expect(given.tests[0]).toMatchObject({ stdout: null, stdout_sha256: 'f'.repeat(64) });
  });
  test('is compared in a separate job if it is not valid UTF-8', () => {
    const kept = { stdout: '\ufffd', outputs: [{ path: STDOUT_FILE, sha256: 'e'.repeat(64) }] };
    expect(drive(two, { ends: { 'test 1': kept } }).rounds[1]).toEqual(['check 1']);
  });
});

test('checkers and validators are built once for all tests, and get their files in the form that their protocol demands', () => {
  const plan: GradingPlan = {
    ...two,
    checker: { ...CPP, args: ['exact'] },
    validators: [{ ...PYTHON, codes: 'kattis' }],
  };
  const ends = { 'validate 1 by 1': { exit_code: 42 }, 'check 1': { exit_code: 7, stderr: 'points 0.5 half\n' } };
  const { rounds, jobs, submission, given } = drive(plan, { ends });
  expect(rounds).toEqual([
    ['validate 1 by 1', 'validate 2 by 1'],
    ['test 1'],
    ['build checker'],
    ['check 1'],
    ['judge'],
  ]);
  expect([...jobs.values()].flatMap(({ name, shared }) => (shared ? [name] : []))).toEqual([
    'validate 1 by 1',
    'validate 2 by 1',
    'build checker',
  ]);
  expect(submission('check 1')).toMatchObject({
    args: ['input/stdin', 'input/output', 'input/expected', 'exact'],
    product: { job_id: 'job of build checker' },
  });
  expect(given.tests[0]?.check?.said).toEqual({ kind: 'points', text: '0.5' });
  expect(given.tests[1]).toMatchObject({ run: null, validations: [{ exit_code: 0, codes: 'kattis' }] });
});

test('a checker of the Kattis format reads the output as stdin, and the points that it leaves in a file are used', () => {
  const plan: GradingPlan = { ...two, checker: { ...PYTHON, codes: 'kattis' } };
  const score = { path: 'output/score.txt', sha256: 'f'.repeat(64), text: '3\n' };
  const { submission, given } = drive(plan, {
    ends: { 'test 1': { stdout: '5' }, 'check 1': { exit_code: 42, outputs: [score] } },
  });
  expect(submission('check 1')).toMatchObject({
    args: ['input/stdin', 'input/expected', 'output/'],
    stdin: text('5'),
    outputs: ['output/**'],
  });
  expect(given.tests[0]?.check?.said).toEqual({ kind: 'points', text: '3\n' });
});

test.each([
  { type: 'output_count', path: 'output/**' },
  { type: 'output_path', path: 'output/score.txt' },
  { type: 'output_size', path: 'output/score_multiplier.txt' },
  { type: 'output_path', path: 'output' },
])(
  'if a checker’s points may be lost, the checker counts as failed and the test wins no points: $type of $path',
  (violation) => {
    const plan: GradingPlan = { ...two, checker: { ...PYTHON, codes: 'kattis' } };
    const violations = [{ ...violation, message: 'it did not come back' }];
    const { given } = drive(plan, { ends: { 'check 1': { exit_code: 42, violations } } });
    const ran = { ...(given.tests[0] as JudgedTest), isAlike: false };
    expect(wonAlone(ran, { build: null })).toEqual({ verdict: 'checker_failed', points: 0 });
  },
);

test('an interactor runs together with the program, and its exit code decides the verdict', () => {
  const plan: GradingPlan = { ...two, interactor: { ...PYTHON, args: ['hard'] } };
  const peer = ended('interactor', { exit_code: 1 });
  const { rounds, submission, given } = drive(plan, { ends: { 'test 1': { peer } } });
  expect(rounds).toEqual([['test 1', 'test 2'], ['judge']]);
  expect(submission('test 1')?.stdin).toBeUndefined();
  expect(submission('test 1')?.interactor).toMatchObject({
    args: ['input/stdin', 'output/tout', 'input/expected', 'hard'],
    files: [
      { path: 'input/stdin', text: '1' },
      { path: 'input/expected', text: '2', secret: true },
    ],
  });
  expect(given.tests[0]?.check).toMatchObject({ job_id: 'job of interactor', exit_code: 1, codes: 'testlib' });
});

test.each([
  [{}, 92],
  [{ cpu_seconds: 60 }, 192],
  [{ wall_seconds: 200 }, 210],
])('the interactor of a program with the limits %j has a longer wall limit than the program', (limits, seconds) => {
  const { submission } = drive({ ...two, limits, interactor: PYTHON });
  expect(submission('test 1')?.interactor?.limits?.wall_seconds).toBe(seconds);
  expect(submission('test 1')?.limits?.wall_seconds).toBeLessThan(seconds);
  const own = drive({ ...two, limits, interactor: { ...PYTHON, limits: { wall_seconds: 5 } } });
  expect(own.submission('test 1')?.interactor?.limits?.wall_seconds).toBe(5);
});

test('no program runs if the build of its interactor failed', () => {
  const plan: GradingPlan = { ...two, interactor: { language: 'c', code: 'x' } };
  const failed = { terminal_reason: 'compile_failed', exit_code: null };
  const abilities = { build: true, large_outputs: true };
  const { rounds, given } = drive(plan, { ends: { 'build interactor': failed }, abilities });
  expect(rounds).toEqual([['build interactor'], ['judge']]);
  expect(given.tests.map(({ run, check }) => [run, check])).toEqual([
    [null, null],
    [null, null],
  ]);
});

describe('groups of tests', () => {
  const tests = ['a1', 'a2', 'a3', 'b1', 'c1'].map((name) => ({ name, group: name[0], expected: text('1') }));
  const groups = [{ name: 'a', stop: true }, { name: 'b', after: ['a'] }, { name: 'c' }];
  const right = { stdout: '1' };
  test('stop at the first failure, and skip groups that depend on them', () => {
    const { rounds, given } = drive({ tests, groups }, { ends: { 'test 1': right, 'test 2': { stdout: '2' } } });
    expect(rounds).toEqual([['test 1', 'test 5'], ['test 2'], ['judge']]);
    expect(given.tests.map(({ run }) => run !== null)).toEqual([true, true, false, false, true]);
  });
  test('run groups that depend on them once all tests have passed', () => {
    const ends = { 'test 1': right, 'test 2': right, 'test 3': right };
    const { rounds } = drive({ tests, groups }, { ends });
    expect(rounds).toEqual([['test 1', 'test 5'], ['test 2'], ['test 3'], ['test 4'], ['judge']]);
  });
});

test.each<[GradingPlan, string, RegExp]>([
  [{ tests: [] }, '/tests', /at least one test/],
  [{ tests: [{ name: 'a' }], output_bytes: 0 }, '/output_bytes', /from 1 to/],
  [{ tests: [{ name: 'a' }, { name: 'a' }] }, '/tests/1/name', /same name: a/],
  [{ tests: [{ name: 'a', points: -1 }] }, '/tests/0', /^test a: its points/],
  [{ tests: [{ name: 'a', expected: text('\ud800') }] }, '/tests/0', /no UTF-8 form/],
  [{ tests: [{ name: 'a', compare: { floats: { absolute: -1 } } }] }, '/tests/0', /compare is one of/],
  [{ tests: [{ name: 'a' }], groups: [{ name: 'x' }] }, '/groups/0', /group x has no test/],
  [{ tests: [{ name: 'a', group: 'y' }], groups: [] }, '/tests/0', /test a is in no group/],
  [{ tests: [{ name: 'a', group: 'x' }], groups: [{ name: 'x', after: ['x'] }] }, '/groups/0', /comes after x/],
])('a plan that cannot lead to a verdict is refused', (plan, pointer, problem) => {
  expect(planProblem(plan)).toEqual([pointer, expect.stringMatching(problem)]);
});
