/** Verdicts of version 2: each test's usage, groups, points, repeated runs, and forgeries that are refused. */

import type { LimitsInput } from '@vouchbox/protocol';
import {
  checkRecord,
  endOf,
  type Grading2,
  type GradingPlan,
  type GroupRecord,
  type JudgedTest,
  type RunRecord,
} from '@vouchbox/protocol/grading-steps';
import { beforeAll, describe, expect } from 'vitest';
import {
  type DrivenGrading,
  driveGrading,
  filesOfGrading,
  judgeGrading,
  problemsOf,
  verified,
} from '../rig/drive-grading.ts';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { useRig } from '../rig/rig.ts';

const rig = useRig({ 'attestation-mode': 'on' });
const text = (text: string) => ({ text });
const python = (code: string) => ({ language: 'python', code });

/** Gives as many points as the output says, and refuses an output that is not a number. */
const CHECKER = `import sys
output, expected = (open(name).read() for name in sys.argv[2:4])
if not output.strip().replace(".", "").isdigit(): sys.exit(1)
if output == expected: sys.exit(0)
print("points", output, file=sys.stderr)
sys.exit(7)`;

const PLAN: GradingPlan = {
  groups: [
    { name: 'small', score: 'minimum', points: 10 },
    { name: 'large', after: ['small'], stop: true },
  ],
  tests: [
    { name: 'one', group: 'small', stdin: text('4'), expected: text('4\n'), points: 4 },
    { name: 'two', group: 'small', stdin: text('1.0'), expected: text('4'), points: 4 },
    { name: 'three', group: 'large', stdin: text('9'), expected: text('9') },
  ],
  checker: python(CHECKER),
  validators: [{ ...python('import sys; sys.exit(42 if input() else 43)'), codes: 'kattis' }],
  limits: { cpu_seconds: 2 },
};

slowTest(
  "the service's verdict about a grading verifies offline with the evidence of the grading's jobs",
  {
    tags: ['Gradings-2d', 'Gradings-14'],
  },
  async () => {
    const { client } = rig().alpha;
    const plain = (given: { readonly text: string } | undefined) => given?.text ?? '';
    const { tests, checker, validators, ...plan } = PLAN as Required<Pick<GradingPlan, 'tests'>> & GradingPlan;
    const sent = tests.map((one) => ({
      ...one,
      stdin: plain(one.stdin as never),
      expected: plain(one.expected as never),
    }));
    const { grading_id } = await client.submitGrading({
      programs: [python('print(input())')],
      tests: sent,
      verdict: 'urn:svc:verdict:v2',
      ...JSON.parse(JSON.stringify({ ...plan, checker, validators })),
    });
    const files = await filesOfGrading(client, grading_id);
    expect(await problemsOf(client, files)).toEqual([]);
    const said = JSON.parse(Buffer.from(files.verdict).toString());
    expect(said).toMatchObject({ schema: 'urn:svc:verdict:v2', points: 2.5, points_max: 11 });
    const [first] = files.jobs.keys();
    const missing = { ...files, jobs: new Map([...files.jobs].filter(([id]) => id !== first)) };
    expect(await problemsOf(client, missing)).not.toEqual([]);
  },
);

slowTest(
  "the service's verdict verifies even if outputs are not text or are too large for the judge",
  {
    tags: ['Gradings-2d'],
  },
  async () => {
    const { client } = rig().alpha;
    const code = `import sys
if sys.argv[1] == "bytes": sys.stdout.buffer.write(b"\\xff right")
else: print("right " * (166000 if sys.argv[1] == "large" else 1))`;
    const names = ['bytes', 'large', ...Array.from({ length: 7 }, (_, at) => `small ${at}`)];
    const tests = names.map((name) => ({ name, args: [name], expected: 'right' }));
    const checker = { ...python('import sys; sys.exit(42 if "right" in sys.stdin.read() else 43)'), codes: 'kattis' };
    for (const [given, points] of [
      [{ checker }, 9],
      [{}, 7],
    ] as const) {
      const body = { programs: [python(code)], tests, verdict: 'urn:svc:verdict:v2', ...given } as const;
      const { grading_id } = await client.submitGrading(JSON.parse(JSON.stringify(body)));
      const files = await filesOfGrading(client, grading_id);
      expect(await problemsOf(client, files)).toEqual([]);
      expect(JSON.parse(Buffer.from(files.verdict).toString()).points).toBe(points);
    }
  },
);

const SMALL: GroupRecord = { name: 'small', score: 'sum', points: 0, after: [], stop: false };

test('the interactor decides a test, and the verdict needs the evidence of both jobs in the pair', {
  tags: ['Gradings-2e', 'Gradings-14'],
}, async () => {
  const { client } = rig().alpha;
  // The program must guess the number in the input. The expected output is the most steps that it may take.
  const interactor = {
    ...python(`import sys
secret, most = int(open(sys.argv[1]).read()), int(open(sys.argv[3]).read())
for step in range(most):
    guess = int(sys.stdin.readline())
    print("<" if secret < guess else ">" if secret > guess else "=", flush=True)
    if guess == secret: sys.exit(0)
sys.exit(1)`),
  };
  const guessing = (step: string) =>
    python(`low, high = 0, 100
while True:
    guess = ${step}
    print(guess, flush=True)
    answer = input()
    if answer == "=": break
    if answer == "<": high = guess - 1
    else: low = guess + 1`);
  const tests = ['7', '90'].map((stdin) => ({ name: stdin, stdin, expected: '8' }));
  const programs = [guessing('(low + high) // 2'), guessing('low')];
  const { blob } = await client.upload(interactor.code);
  const { grading_id } = await client.submitGrading({
    verdict: 'urn:svc:verdict:v2',
    programs,
    tests,
    interactor: { ...interactor, code: { blob }, files: [{ path: 'input/own', blob }] },
  });
  const { graded } = await client.waitForGrading(grading_id);
  expect(graded.map(({ verdict }) => [verdict?.accepted, verdict?.points])).toEqual([
    [true, 2],
    [false, 1],
  ]);
  const files = await filesOfGrading(client, grading_id);
  expect(await problemsOf(client, files)).toEqual([]);
  const said = JSON.parse(Buffer.from(files.verdict).toString());
  const [one, other] = said.tests;
  expect(one).toMatchObject({ verdict: 'accepted', check: { exit_code: 0, codes: 'testlib' } });
  const pair = await client.detail(one.run.job_id);
  expect(pair.requested_spec.interaction?.peer).toBe(one.check.job_id);
  // Replaces the interactor's evidence with the evidence of another test's interactor.
  const given = files.jobs.get(other.check.job_id);
  const swapped = new Map([...files.jobs].map(([id, job]) => [id, id === one.check.job_id && given ? given : job]));
  expect(await problemsOf(client, { ...files, jobs: swapped })).toContainEqual(expect.stringMatching(/^test 7/));
  const both = await rig().request('/v1/gradings', {
    method: 'POST',
    body: { verdict: 'urn:svc:verdict:v2', programs, tests, interactor, checker: interactor },
  });
  expect([both.status, both.json.error.message]).toEqual([400, expect.stringMatching(/^\/checker/)]);
  const unknown = { blob: `sha256:${'0'.repeat(64)}` };
  const lacking = async (more: object) => {
    const body = { verdict: 'urn:svc:verdict:v2', programs, tests, interactor: { ...interactor, ...more } };
    const { status, json } = await rig().request('/v1/gradings', { method: 'POST', body });
    return [status, (json.error.message as string).split(' ')[0]];
  };
  expect(await lacking({ code: unknown })).toEqual([422, '/interactor/code']);
  expect(await lacking({ files: [{ path: 'input/a', ...unknown }] })).toEqual([422, '/interactor/files/0/blob']);
});

describe('a verdict', () => {
  let driven: DrivenGrading;
  beforeAll(async () => {
    driven = await driveGrading(rig().alpha.client, { plan: PLAN, program: python('print(input())') });
  });

  test('has each test’s verdict, points, group and usage', () => {
    const { verdict } = driven;
    expect(verdict).toMatchObject({ schema: 'urn:svc:verdict:v2', accepted: false, points: 2.5, points_max: 11 });
    expect(verdict.groups).toMatchObject([
      { name: 'small', passed: false, points: 2.5, points_max: 10 },
      { name: 'large', passed: false, points: 0, points_max: 1 },
    ]);
    expect(verdict.tests.map(({ verdict, points }) => [verdict, points])).toEqual([
      ['accepted', 4],
      ['partial', 1],
      ['skipped', 0],
    ]);
    const { run } = verdict.tests[0] ?? {};
    expect([run?.cpu_ms, run?.wall_ms, run?.memory_peak_bytes].every((figure) => Number(figure) > 0)).toBe(true);
    expect(run?.account).toBe('cell');
  });

  test('verifies offline with the evidence of the jobs that it names', async () => {
    const { exitCode, checks, facts } = await verified(rig().alpha.client, driven.files);
    expect([exitCode, checks.filter(({ isGood }) => !isGood)]).toEqual([0, []]);
    expect(checks.map(({ name }) => name)).toEqual([
      ...['judge', 'judge_program', 'verdict_file', 'test one', 'test two', 'test three', 'words', 'totals'],
    ]);
    expect(facts).toMatchObject({ points: 2.5, points_max: 11, tests: 3 });
  });

  const changed = (at: number, change: (test: JudgedTest) => Partial<JudgedTest>) => (grading: Grading2) => ({
    ...grading,
    tests: grading.tests.map((test, index) => (index === at ? { ...test, ...change(test) } : test)),
  });
  const run = (change: Partial<RunRecord>) =>
    changed(0, (test) => ({ run: { ...(test.run as RunRecord), ...change } }));
  const other = (grading: Grading2) => grading.tests[1] as JudgedTest;

  slowTest.each<[what: string, forge: (grading: Grading2) => Grading2, names: RegExp]>([
    ['another processor time', run({ cpu_ms: 77_777 }), /test one: .*its time/],
    ['another end', run({ exit_code: 1 }), /test one: .*its end/],
    ['another input', changed(0, () => ({ stdin_sha256: 'a'.repeat(64) })), /test one: .*(another input)/],
    ['another output', changed(0, () => ({ stdout_sha256: 'a'.repeat(64) })), /test one: .*another output/],
    [
      'points that no checker gave',
      changed(1, ({ check }) => ({ check: check && { ...check, said: { kind: 'points', text: '3' } } })),
      /test two: .*its checker/,
    ],
    [
      'the checker of another test',
      (grading) => changed(0, () => ({ check: other(grading).check }))(grading),
      /test one: .*its checker/,
    ],
    [
      'the run of another test',
      (grading) =>
        changed(0, () => ({
          run: other(grading).run,
          stdin_sha256: other(grading).stdin_sha256,
          stdout_sha256: other(grading).stdout_sha256,
          check: other(grading).check,
          validations: [],
        }))(grading),
      /test two: .*that of another test/,
    ],
    ['a run that was repeated without need', changed(0, ({ run }) => ({ starved: run })), /test one: .*without need/],
    ['a checker that is left out', changed(1, () => ({ check: null })), /words: two was judged without/],
    ['an output that is called cut', changed(0, () => ({ is_cut: true })), /words: one is accepted/],
  ])('with %s is refused, and the message names the place', async (_what, forge, names) => {
    const { client } = rig().alpha;
    const forged = await judgeGrading(client, forge(driven.grading), []);
    const problems = await problemsOf(client, { ...forged.files, jobs: driven.files.jobs });
    expect(problems.join('\n')).toMatch(names);
  });

  slowTest('is refused if one test was judged without the checker, or by another checker', async () => {
    const { client } = rig().alpha;
    const program = python('print(input())');
    const limits = PLAN.limits as LimitsInput;
    // This text is too long for the judge, so a separate job compares it: the comparer.
    const plan = { tests: [{ name: 'four', stdin: text('1'), expected: text(`1${' '.repeat(1 << 20)}`) }], limits };
    const other = await driveGrading(client, { plan, program });
    const [compared] = other.grading.tests as [JudgedTest];
    const [one, two] = driven.grading.tests as [JudgedTest, JudgedTest];
    const files = { 'input/stdin': '1.0', 'input/output': '1.0\n', 'input/expected': '4', 'input/lenient': '' };
    const args = ['input/stdin', 'input/output', 'input/expected'];
    const lenient = await client.run(CHECKER, { files, args });
    const check = checkRecord(endOf(lenient), 'testlib');
    const { files: jobs } = await judgeGrading(client, driven.grading, [endOf(lenient)]);
    for (const [tests, names] of [
      [[one, { ...compared, group: 'small' }], /words: four was judged without the checker/],
      [[one, { ...two, check }], /test two: its checker was another program/],
    ] as const) {
      const forged = await judgeGrading(client, { ...driven.grading, tests, groups: [SMALL] }, []);
      const all = new Map([...driven.files.jobs, ...other.files.jobs, ...jobs.jobs]);
      const problems = await problemsOf(client, { ...forged.files, jobs: all });
      expect(problems.join('\n')).toMatch(names);
    }
  });

  test('that contains no tests is refused', async () => {
    const { client } = rig().alpha;
    const forged = await judgeGrading(client, { ...driven.grading, tests: [], groups: [] }, []);
    expect(forged.verdict.accepted).toBe(true);
    expect(await problemsOf(client, forged.files)).toEqual([expect.stringContaining('not a verdict of this form')]);
  });

  test('is refused if the evidence lacks the job of a test', async () => {
    for (const { job_id } of driven.ends.values()) {
      const jobs = new Map(driven.files.jobs);
      jobs.delete(job_id);
      const problems = await problemsOf(rig().alpha.client, { ...driven.files, jobs });
      expect(problems).toMatchObject([expect.stringMatching(`there is no export of ${job_id}`)]);
    }
  });
});

slowTest(
  'a test that reached its wall limit with little CPU time runs again, and the verdict names both jobs',
  async () => {
    const { client } = rig().alpha;
    const plan: GradingPlan = { tests: [{ name: 'one' }], limits: { wall_seconds: 0.5 } };
    const { verdict, files, grading } = await driveGrading(client, {
      plan,
      program: python('import time; time.sleep(60)'),
    });
    const [one] = verdict.tests;
    expect(one).toMatchObject({ verdict: 'time_limit', run: { terminal_reason: 'wall_limit' } });
    expect(one?.starved?.job_id).not.toBe(one?.run?.job_id);
    expect((await verified(client, files)).exitCode).toBe(0);
    const hidden = { ...grading, tests: grading.tests.map((test) => ({ ...test, starved: null })) };
    const forged = await judgeGrading(client, hidden, []);
    const problems = await problemsOf(client, { ...forged.files, jobs: files.jobs });
    expect(problems).toMatchObject([expect.stringMatching(/^test one: .*was not repeated/)]);
  },
);

slowTest('large texts are compared in a separate job', async () => {
  const { client } = rig().alpha;
  const words = 'word '.repeat(150_000);
  const tests = [
    { name: 'same', expected: text(`\n${words}`), compare: 'words' as const },
    { name: 'other', expected: text(`${words} word`), compare: 'words' as const },
  ];
  const { verdict, files, grading } = await driveGrading(client, {
    plan: { tests },
    program: python('print("word " * 150000)'),
  });
  expect(verdict.tests.map(({ verdict }) => verdict)).toEqual(['accepted', 'wrong_answer']);
  expect((await verified(client, files)).exitCode).toBe(0);
  const looser = { ...grading, tests: grading.tests.map((test) => ({ ...test, compare: 'exact' as const })) };
  const forged = await judgeGrading(client, looser, []);
  const problems = await problemsOf(client, { ...forged.files, jobs: files.jobs });
  expect(problems[0]).toMatch(/^test same: it was compared in another way/);
});

slowTest(
  'an output with more lines than the history records is compared whole, and the verdict has its digest',
  async () => {
    const { client } = rig().alpha;
    const program = python('for at in range(12000): print(at)\nif input() == "2": print("more")');
    const expected = text(Array.from({ length: 12_000 }, (_, at) => `${at}\n`).join(''));
    const tests = ['1', '2'].map((name) => ({ name, stdin: text(name), expected }));
    const { verdict, files, grading } = await driveGrading(client, { plan: { tests, output_bytes: 1 << 20 }, program });
    expect(verdict.tests.map(({ verdict, stdout_sha256 }) => [verdict, typeof stdout_sha256])).toEqual([
      ['accepted', 'string'],
      ['wrong_answer', 'string'],
    ]);
    expect((await verified(client, files)).exitCode).toBe(0);
    const [one, two] = grading.tests as [JudgedTest, JudgedTest];
    const swapped = { ...grading, tests: [one, { ...two, check: one.check }] };
    const forged = await judgeGrading(client, swapped, []);
    const problems = await problemsOf(client, { ...forged.files, jobs: files.jobs });
    expect(problems[0]).toMatch(/^test 2: its checker was given another output/);
  },
);

slowTest('a test whose output is larger than output_bytes gets output_limit', async () => {
  const { client } = rig().alpha;
  const tests = [{ name: 'one', expected: text('x') }];
  const plan: GradingPlan = { tests, output_bytes: 1 << 20 };
  const { verdict, files } = await driveGrading(client, { plan, program: python('print("x" * (3 << 20))') });
  expect(verdict.tests[0]?.verdict).toBe('output_limit');
  expect((await verified(client, files)).exitCode).toBe(0);
});
