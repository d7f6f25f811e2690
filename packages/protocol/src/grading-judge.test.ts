/** Compares the judge and the comparer in Python with the same rules in TypeScript. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { areAlike } from './grading-compare.ts';
import { CHECKED_FILES, COMPARER, JUDGE_2 } from './grading-judge.ts';
import {
  type CheckRecord,
  type Comparing,
  type Grading2,
  type JudgedTest,
  TEST_VERDICTS_2,
  type Verdict2,
} from './grading-record.ts';
import { scoreOf, wonAlone } from './grading-score.ts';

/** A new directory like the working directory of a cell. */
function workspace(): string {
  const directory = mkdtempSync(join(tmpdir(), 'svc-judge-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, 'input'));
  mkdirSync(join(directory, 'output'));
  return directory;
}

/** Runs the judge over each grading, in one process. */
function judged(gradings: readonly Grading2[]): readonly Verdict2[] {
  const places = gradings.map((grading) => {
    const cwd = workspace();
    writeFileSync(join(cwd, 'input/grading.json'), JSON.stringify(grading));
    return cwd;
  });
  const script =
    'import os, sys\njudge = sys.stdin.read()\nfor place in sys.argv[1:]: os.chdir(place); exec(judge, {})';
  execFileSync('python3', ['-c', script, ...places], { input: JUDGE_2 });
  return places.map((place) => JSON.parse(readFileSync(join(place, 'output/verdict.json'), 'utf8')));
}

/** Numbers that look random and are the same in each run. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const CASES: readonly [output: string, expected: string, compare: Comparing, isAlike: boolean][] = [
  ['a\n', 'a', 'exact', false],
  ['é\n', 'é\n', 'exact', true],
  ['a \nb\n\n', 'a\nb', 'lines', true],
  ['\na', 'a', 'lines', false],
  ['a\r\nb\r\n', 'a\nb\n', 'lines', true],
  ['a b', 'a  b', 'lines', false],
  ['a\n\n\nb', 'a\n\nb', 'lines', false],
  ['', '\n \t\n', 'lines', true],
  ['a\n\n b', 'a b', 'words', true],
  ['ab', 'a b', 'words', false],
  [' a', 'a', 'words', true],
  ['a\u00a0b', 'a b', 'words', false],
  ['a\u2028', 'a', 'lines', false],
  ['1.0000001 x', '1 x', { floats: { absolute: 1e-6 } }, true],
  ['1.00001', '1', { floats: { absolute: 1e-6 } }, false],
  ['1000001', '1e6', { floats: { relative: 1e-5 } }, true],
  ['1e6', '1000000.0', { floats: {} }, true],
  ['nan', 'nan', { floats: {} }, true],
  ['nan', '1', { floats: { absolute: 1 } }, false],
  ['inf', '1e999', { floats: { absolute: 1, relative: 1 } }, false],
  ['5', '1e999', { floats: { absolute: 1, relative: 1 } }, false],
  ['0x10', '16', { floats: { absolute: 1 } }, false],
  ['1_0', '10', { floats: { absolute: 1 } }, false],
  ['1 2', '1', { floats: { absolute: 1 } }, false],
  [`${'1'.repeat(1001)}`, `${'1'.repeat(1000)}2`, { floats: { relative: 1 } }, false],
  ['+.5', '0.5', { floats: {} }, true],
];

test('both implementations of the judge call the same texts equal, however the texts are split into pieces', () => {
  const random = randomFrom(7);
  const letters = [' ', '\n', '\r', '\t', '\v', '\f', 'a', '1', '.', 'e', '-', '\u00a0', '\0', ' ', '\n'];
  const text = () => Array.from({ length: random(9) }, () => letters[random(letters.length)]).join('');
  const compares: readonly Comparing[] = ['exact', 'lines', 'words', { floats: { absolute: 0.5, relative: 0.1 } }];
  const tried = [...CASES.map(([output, expected, compare]) => ({ output, expected, compare }))];
  for (let at = 0; at < 4000; at += 1) {
    const output = text();
    const expected =
      random(3) === 0 ? text() : output.replace(/[ \n]/, () => [' ', '\n', '', '  '][random(4)] as string);
    tried.push({ output, expected, compare: compares[random(4)] as Comparing });
  }
  const here = tried.map(({ output, expected, compare }) => areAlike(output, expected, compare));
  expect(here.slice(0, CASES.length)).toEqual(CASES.map(([, , , isAlike]) => isAlike));
  expect(new Set(here.slice(CASES.length))).toEqual(new Set([true, false]));
  const [functions = ''] = COMPARER.split('\nwith open(');
  for (const size of ['1', '2', '5', '1 << 20']) {
    const script = `import io\n${functions.replace('1 << 20', size)}
for one in json.load(sys.stdin):
    print(int(alike(io.BytesIO(one["output"].encode()), io.BytesIO(one["expected"].encode()), one["compare"])), end="")`;
    const there = execFileSync('python3', ['-c', script], { input: JSON.stringify(tried), encoding: 'utf8' });
    expect(there, `pieces of ${size}`).toBe(here.map(Number).join(''));
  }
});

test.each([
  ['words', 'a '.repeat(100_000), 'a\n'.repeat(100_000), 42],
  ['words', 'a '.repeat(100_000), 'a\n'.repeat(99_999), 43],
  ['exact', Buffer.from([255, 0, 10]), Buffer.from([255, 0, 10]), 42],
] as const)(
  'the program that compares texts by %s exits with 42 for equal texts and with 43 for different texts',
  (compare, output, expected, code) => {
    const cwd = workspace();
    writeFileSync(join(cwd, CHECKED_FILES.output), output);
    writeFileSync(join(cwd, CHECKED_FILES.expected), expected);
    const run = () => execFileSync('python3', ['-c', COMPARER, JSON.stringify(compare)], { cwd });
    expect(run).toThrow(expect.objectContaining({ status: code }));
  },
);

const job = { job_id: 'job', receipt_sha256: 'f'.repeat(64) };

test('the judge gives the verdicts, the points and the groups that the rules demand', () => {
  const random = randomFrom(11);
  const one = <T>(...from: readonly T[]): T => from[random(from.length)] as T;
  const check = (): CheckRecord => ({
    ...job,
    code_sha256: null,
    terminal_reason: one('exited', 'exited', 'exited', 'exited', 'cpu_limit'),
    exit_code: one(0, 42, 43, 1, 2, 3, 4, 7, 7, 8, null),
    codes: one('testlib', 'kattis'),
    said: one(
      null,
      { kind: 'points', text: one('2', '0.1', '0', '-1', '9', 'x', '1e-1', '1\n') },
      { kind: 'part', text: one('.3', '1', '2') },
    ),
  });
  const run = () => ({
    ...job,
    terminal_reason: one(
      'exited',
      'exited',
      'exited',
      'exited',
      'exited',
      'cpu_limit',
      'memory_limit',
      'signaled',
      'cancelled',
      null,
    ),
    exit_code: one(0, 0, 0, 0, 1),
    compiler: one(null, null, null, null, null, null, 'error' as const, 'limit' as const),
    cpu_ms: 1,
    wall_ms: 2,
    memory_peak_bytes: 3,
    account: 'cell' as const,
  });
  const scored: { readonly grading: Grading2; readonly score: ReturnType<typeof scoreOf> }[] = [];
  for (let round = 0; round < 40; round += 1) {
    const names = ['a', 'b', 'c'].slice(0, 1 + random(3));
    const groups = names.map((name, at) => ({
      name,
      score: one('sum' as const, 'minimum' as const),
      points: random(30) / 10,
      after: names.slice(0, at).filter(() => random(2) === 0),
      stop: random(2) === 0,
    }));
    const tests = Array.from(
      { length: 12 },
      (_, at): JudgedTest => ({
        name: `é${at}`,
        group: at < names.length ? (names[at] as string) : one(...names),
        points: one(0, 1, 2, 0.3, 2),
        compare: one('lines', 'words', 'exact'),
        run: random(12) === 0 ? null : run(),
        starved: null,
        is_cut: random(12) === 0,
        check: random(2) === 0 ? check() : null,
        validations: random(9) === 0 ? [{ ...check(), codes: 'testlib' }] : [],
        stdin_sha256: null,
        stdout: one('1', '1', '2', null),
        expected: one('1', '1', '1\n', null),
        stdout_sha256: null,
        expected_sha256: one(null, null, 'e'.repeat(64)),
      }),
    );
    const build = one(null, null, null, {
      ...job,
      terminal_reason: 'exited',
      exit_code: 0,
      compiler: one(null, null, 'error' as const),
    });
    const grading: Grading2 = { program: { language: 'c', code_sha256: null, build }, groups, tests };
    const score = scoreOf(
      groups,
      tests.map(({ ...test }) => ({ ...test, won: wonAlone({ ...test, isAlike: isAlike(test) }, { build }) })),
    );
    scored.push({ grading, score });
  }
  const verdicts = judged(scored.map(({ grading }) => grading));
  for (const [at, { grading, score }] of scored.entries()) {
    const { tests = [], ...verdict } = verdicts[at] ?? {};
    expect({ ...verdict, tests: tests.map(({ verdict, points }) => ({ verdict, points })) }).toEqual({
      schema: 'urn:svc:verdict:v2',
      program: grading.program,
      ...score,
    });
  }
  const seen = new Set(scored.flatMap(({ score }) => score.tests.map(({ verdict }) => verdict)));
  expect(TEST_VERDICTS_2.filter((word) => !seen.has(word))).toEqual([]);
});

function isAlike({ stdout, expected, expected_sha256, compare }: JudgedTest): boolean {
  return expected === null ? expected_sha256 === null : stdout !== null && areAlike(stdout, expected, compare);
}
