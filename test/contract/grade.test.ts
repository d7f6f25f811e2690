/** `vouchbox grade` and `service-verify verdict`: hidden tests, one signed verdict, and forgeries that are refused. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { GradeTest } from '@vouchbox/client';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Command, vouchbox } from '../rig/command.ts';
import { filesOfGrading, problemsOf } from '../rig/drive-grading.ts';
import { useRig } from '../rig/rig.ts';

const rig = useRig({ 'attestation-mode': 'on' });
const MIB = 1024 * 1024;
const SUM = 'print(sum(map(int, input().split())))';
const SUMS: readonly GradeTest[] = [
  { name: 'small', stdin: '1 2', expected: '3' },
  { name: 'large', stdin: '1000000 1', expected: '1000001\n', points: 3 },
];

describe('a grading', () => {
  const grade = (code: string, tests: readonly GradeTest[], more = {}) =>
    rig().alpha.client.grade(code, { tests, ...more });
  const verdictsOf = async (...given: Parameters<typeof grade>) =>
    (await grade(...given)).verdict.tests.map(({ verdict }) => verdict);

  test('accepts a program that passes every test, with all points', async () => {
    const { verdict } = await grade(SUM, SUMS);
    expect(verdict).toMatchObject({ schema: 'urn:svc:verdict:v2', accepted: true, points: 4, points_max: 4 });
    expect(verdict.program).toMatchObject({ language: 'python' });
  });

  test('gives no points for a test that fails', async () => {
    const { verdict } = await grade('print(3)', SUMS);
    expect(verdict).toMatchObject({ accepted: false, points: 1, points_max: 4 });
    expect(verdict.tests.map((one) => one.verdict)).toEqual(['accepted', 'wrong_answer']);
  });

  test.each([
    ['a failure', 'raise SystemExit(1)', {}, 'runtime_error'],
    ['a signal', 'import os; os.abort()', {}, 'runtime_error'],
    ['a time limit', 'while True: pass', { limits: { wall_seconds: 0.5 } }, 'time_limit'],
    [
      'a memory limit',
      'x = bytearray(2 << 30)\nfor i in range(0, len(x), 4096): x[i] = 1',
      { limits: { mem_mb: 64 } },
      'memory_limit',
    ],
    ['too much output', 'print("x" * (9 << 20))', {}, 'output_limit'],
  ])('gives a program that ends by %s the verdict for this kind of end', async (_what, code, more, verdict) => {
    expect(await verdictsOf(code, [{ name: 'one', expected: 'never' }], more)).toEqual([verdict]);
  });

  test.each([
    ['lines', 'a \nb\n\n', 'a\nb', 'accepted'],
    ['lines', 'a b', 'a  b', 'wrong_answer'],
    ['words', 'a\n\n b', 'a b', 'accepted'],
    ['exact', 'a\n', 'a', 'wrong_answer'],
    ['exact', 'é\n', 'é\n', 'accepted'],
  ] as const)('compares by %s: %j with %j is %s', async (compare, output, expected, verdict) => {
    const code = `import sys; sys.stdout.write(${JSON.stringify(output)})`;
    expect(await verdictsOf(code, [{ name: 'one', expected, compare }])).toEqual([verdict]);
  });

  test('asks a checker, and gives it the input, the expected output and the actual output', async () => {
    const checker = {
      language: 'python',
      code: `read = lambda name: open('input/' + name).read()
if read('output').strip() == 'crash': raise SystemExit(9)
raise SystemExit(0 if int(read('output')) % int(read('stdin')) == int(read('expected')) else 1)`,
    };
    const tests = [{ name: 'one', stdin: '7', expected: '3' }];
    expect(await verdictsOf('print(10)', tests, { checker })).toEqual(['accepted']);
    expect(await verdictsOf('print(11)', tests, { checker })).toEqual(['wrong_answer']);
    expect(await verdictsOf('print("crash")', tests, { checker })).toEqual(['checker_failed']);
  });

  test('shows the program no other test and no expected output', async () => {
    const code = `import os\nfor place, _, files in os.walk('/work'): print(place, files)\nprint(os.environ, input())`;
    const seen: string[] = [];
    await grade(
      code,
      [
        { name: 'one', stdin: 'in', expected: 'secret-expected' },
        { name: 'two', stdin: 'other-input', expected: 'secret-expected' },
      ],
      { onTest: (name: string, { stdout }: { stdout: string }) => name === 'one' && seen.push(stdout) },
    );
    expect(seen).toHaveLength(1);
    expect(seen[0]).not.toMatch(/secret-expected|other-input/);
  });

  test('refuses a program that names libraries, before it makes any job', async () => {
    const program = { ...{ language: 'python', code: '' }, libraries: { blob: `sha256:${'0'.repeat(64)}` } } as const;
    const graded = rig().alpha.client.grade(program, { tests: [{ name: 'a' }] });
    await expect(graded).rejects.toThrow(/takes no libraries: name a runtime pack/);
  });

  test.each([
    ['no test', [], /at least one test/],
    ['two tests of one name', [{ name: 'a' }, { name: 'a' }], /same name: a/],
    [
      'input that is too large',
      [{ name: 'a' }, { name: 'b', stdin: 'x'.repeat(64 * MIB + 1) }],
      /^test b: its input has 67108865 bytes; at most 67108864/,
    ],
    ['too many arguments', [{ name: 'a', args: Array(65).fill('1') }], /^test a: it has 65 arguments; at most 64/],
    ['an argument that is too long', [{ name: 'a', args: ['é'.repeat(2049)] }], /^test a: an argument has 4098 bytes/],
    [
      'arguments that are too long',
      [{ name: 'a', args: Array(9).fill('1'.repeat(4096)) }],
      /together have 36864 bytes/,
    ],
    [
      'a file that is too large',
      [{ name: 'a', files: { big: new Uint8Array(2 * MIB + 1) } }],
      /^test a: big has 2097153/,
    ],
    [
      'files that are too large',
      [{ name: 'a', files: { a: new Uint8Array(2 * MIB), b: new Uint8Array(2 * MIB), c: 'x' } }],
      /^test a: its files together have 4194305 bytes; at most 4194304/,
    ],
    [
      'an output that is too large',
      [{ name: 'a', expected: 'x'.repeat(64 * MIB + 1) }],
      /^test a: what is expected has 67108865 bytes; at most 67108864/,
    ],
    ['points that are not a number', [{ name: 'a', points: Number.NaN }], /^test a: its points/],
    ['text without a form in UTF-8', [{ name: 'a', expected: '\ud800' }], /^test a: .* no UTF-8 form/],
  ])('refuses %s, before it makes any job', async (_what, tests, message) => {
    const { client } = rig().alpha;
    const newest = async () => (await client.list({ limit: 1 })).items[0]?.job_id;
    const before = await newest();
    await expect(grade(SUM, tests)).rejects.toThrow(
      expect.objectContaining({ message: expect.stringMatching(message) }),
    );
    expect(await newest()).toBe(before);
  });

  test.each([
    ['', {}, /^the program is empty/],
    ['#'.repeat(MIB + 1), {}, /^the program has 1048577 bytes; at most 1048576/],
    ['1', { checker: { language: 'python', code: '' } }, /^the checker is empty/],
  ])('refuses a program or a checker that is empty or too large', async (code, more, message) => {
    await expect(grade(code, SUMS, more)).rejects.toThrow(message);
  });

  test('supports groups, validators, tolerances, and checkers with codes and arguments, and has evidence of each', async () => {
    const { client } = rig().alpha;
    const code = 'import sys; a = float(input()); print(a / 3)';
    const checker = {
      language: 'python',
      code: `import sys
said, right = float(sys.stdin.read()), float(open(sys.argv[2]).read())
open(sys.argv[3] + 'score_multiplier.txt', 'w').write(sys.argv[5])
sys.exit(42 if abs(said - right) <= float(sys.argv[4]) else 43)`,
      codes: 'kattis',
      args: ['0.1'],
    } as const;
    const graded = await grade(
      code,
      [
        { name: '1', group: 'small', stdin: '1', expected: '0.3', checkerArgs: ['1'] },
        { name: '2', group: 'small', stdin: '2', expected: '0.7', points: 4, checkerArgs: ['0.5'] },
        { name: '3', group: 'large', stdin: '10', expected: '4', checkerArgs: ['1'] },
        { name: '4', group: 'large', stdin: '11', expected: '4', checkerArgs: ['1'] },
        { name: '5', group: 'last', stdin: '', expected: '4', checkerArgs: ['1'] },
      ],
      {
        checker,
        validators: [{ language: 'bash', code: '[ "$1" = "$(wc -l)" ]', args: ['0'] }],
        groups: [
          { name: 'small', score: 'minimum', points: 10 },
          { name: 'large', stop: true },
          { name: 'last', after: ['large'] },
        ],
      },
    );
    const { verdict, grading_id, jobs } = graded;
    const words = ['accepted', 'partial', 'wrong_answer', 'skipped', 'skipped'];
    expect(verdict.tests.map((one) => one.verdict)).toEqual(words);
    expect(verdict.groups.map(({ points, points_max }) => [points, points_max])).toEqual([
      [5, 10],
      [0, 2],
      [0, 1],
    ]);
    const files = await filesOfGrading(client, grading_id);
    expect([...files.jobs.keys()].sort()).toEqual([...jobs].sort());
    expect(await problemsOf(client, files)).toEqual([]);
  });

  test('compares numbers with a tolerance, and ends at the first test without points', async () => {
    const tests = ['1.001', '1.1', '1'].map((expected, at) => ({
      name: `${at}`,
      expected,
      compare: { floats: { absolute: 0.01 } },
    }));
    expect(await verdictsOf('print(1)', tests, { stop: true })).toEqual(['accepted', 'wrong_answer', 'skipped']);
  });

  test.each(['its own', 'that of the grading'])(
    'runs a program with an interactor (%s), and has evidence of both programs',
    async (whose) => {
      const { client } = rig().alpha;
      const interactor = {
        language: 'python',
        code: `import sys
wanted, said = open(sys.argv[1]).read(), input()
print("right" if said == wanted else "wrong", flush=True)
sys.exit(0 if said == wanted and sys.argv[-1] == "word" else 1)`,
        args: ['word'],
      };
      const [own, given] = whose === 'its own' ? [{ interactor }, {}] : [{}, { interactor }];
      const tests = [
        { name: 'seven', stdin: '7' },
        { name: 'eight', stdin: '8' },
      ];
      const program = { language: 'bash', code: 'echo 7; read said; [ "$said" ]', ...own };
      const { verdict, grading_id, jobs } = await client.grade(program, { tests, ...given });
      expect(verdict.tests.map((one) => one.verdict)).toEqual(['accepted', 'wrong_answer']);
      const files = await filesOfGrading(client, grading_id);
      expect([jobs.length, [...files.jobs.keys()].sort()]).toEqual([4, [...jobs].sort()]);
      expect(await problemsOf(client, files)).toEqual([]);
    },
  );

  test('refuses an interactor together with a checker, before it makes any job', async () => {
    const program = { language: 'bash', code: 'read', interactor: { language: 'bash', code: 'echo' } };
    const { client } = rig().alpha;
    const newest = async () => (await client.list({ limit: 1 })).items;
    const before = await newest();
    const checker = { language: 'bash', code: 'true' };
    await expect(client.grade(program, { tests: SUMS, checker })).rejects.toThrow(/^the interactor judges/);
    expect(await newest()).toEqual(before);
  });

  test('judges an input and an output whose lines are longer than a record', async () => {
    const stdin = `${'1 '.repeat(600_000)}\n`;
    const expected = '1\n'.repeat(600_000);
    const code = 'print(*input().split(), sep="\\n")';
    // On a busy host, the program would use over half of the default CPU limit, and such a run is not repeated.
    const limits = { cpu_seconds: 30 };
    const { verdict } = await grade(code, [{ name: 'one', stdin, expected }], { limits });
    expect(verdict).toMatchObject({ accepted: true, tests: [{ expected_sha256: expect.any(String) }] });
  });

  test('judges outputs that together are larger than a job’s file may be', async () => {
    const line = `${'x'.repeat(450_000)}\n`;
    const tests = ['a', 'b', 'c'].map((name) => ({ name, expected: line }));
    const { verdict } = await grade(`print("x" * 450000)`, tests);
    expect(verdict).toMatchObject({ accepted: true, points: 3 });
  });

  test('judges the whole stdout even if stderr was truncated', async () => {
    const code = `import sys; print(3); sys.stderr.write("x" * (2 << 20))`;
    expect(await verdictsOf(code, [{ name: 'one', expected: '3' }])).toEqual(['accepted']);
  });
});

describe('a verdict', () => {
  let scratch: string;
  let key: string;
  beforeAll(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'svc-grade-'));
    mkdirSync(join(scratch, 'tests'));
    for (const { name, stdin = '', expected = '' } of SUMS) {
      writeFileSync(join(scratch, 'tests', `${name}.in`), stdin);
      writeFileSync(join(scratch, 'tests', `${name}.out`), expected);
    }
    writeFileSync(join(scratch, 'sum.py'), SUM);
    writeFileSync(join(scratch, 'three.py'), 'print(3)');
    writeFileSync(join(scratch, 'empty.py'), '');
    mkdirSync(join(scratch, 'large'));
    writeFileSync(join(scratch, 'large/big.in'), 'x'.repeat(64 * MIB + 1));
    mkdirSync(join(scratch, 'open'));
    for (const name of ['a.in', 'b.in', 'b.out']) writeFileSync(join(scratch, 'open', name), '3');
    key = join(scratch, 'key.pem');
    writeFileSync(key, (await rig().alpha.client.publicKey()).public_key_pem);
  });
  afterAll(() => rmSync(scratch, { recursive: true }));

  const env = () => ({ SERVICE_URL: rig().service.url, SERVICE_KEY: rig().alpha.key });
  const graded = (...words: string[]) => vouchbox(['grade', ...words], { cwd: scratch, env: env() });
  const verified = (name: string, tenant = 'alpha') =>
    serviceVerify(['verdict', join(scratch, name), '--public-key', key, '--tenant', tenant]);

  test('is printed as a table, or as JSON with --json, and sets the exit code', async () => {
    const good = await graded('sum.py', '--tests', 'tests');
    expect([good.code, good.stdout]).toEqual([
      0,
      expect.stringMatching(
        /^(large|small) {2}accepted {2}1\/1 {2}\d+ ms +\d+\.\d MiB\n.*\naccepted: 2 of 2 points\n$/,
      ),
    ]);
    const bad = await graded('three.py', '--tests', 'tests', '--json');
    expect([bad.code, JSON.parse(bad.stdout)]).toMatchObject([1, { accepted: false, points: 1 }]);
  });

  test('is printed with each limit that the service lowered, named once', async () => {
    const { code, stderr } = await graded('sum.py', '--tests', 'tests', '--limit', 'mem_mb=99999');
    expect([code, stderr.match(/--limit.*/g)]).toEqual([
      0,
      ['--limit mem_mb=99999 became 1024, the most that this service allows'],
    ]);
  });

  test('is printed with a warning about tests without expected output, unless a checker judges them', async () => {
    const says = 'there is no a.out: for such a test, only how the program ends counts';
    expect((await graded('sum.py', '--tests', 'open')).stderr).toContain(says);
    expect((await graded('sum.py', '--tests', 'open', '--checker', 'three.py')).stderr).not.toContain(says);
    expect((await graded('sum.py', '--tests', 'tests')).stderr).not.toContain('only the end');
  });

  test('verifies offline together with its jobs, and contains neither the program nor the tests', async () => {
    expect((await graded('three.py', '--tests', 'tests', '--output', 'out')).code).toBe(1);
    const { exitCode, stdout } = await verified('out');
    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringMatching(/test large +wrong_answer.*\n(.*\n)*.*totals +1 of 2 points/),
    ]);
    const texts = readdirSync(join(scratch, 'out'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
    expect(texts.join('\n')).not.toMatch(/print\(3\)|1000000 1|"expected":/);
    expect((await verified('out', 'beta')).exitCode).not.toBe(0);
  });

  test('replaces an earlier verdict with --force, and never another file', async () => {
    const grade = (output: string, ...more: string[]) =>
      graded('sum.py', '--tests', 'tests', '--output', output, ...more);
    const entries = (directory: string) => readdirSync(join(scratch, directory)).sort();
    expect((await grade('twice')).code).toBe(0);
    const [job = ''] = entries('twice/jobs');
    const refused = {
      code: 2,
      stderr:
        'vouchbox: twice has the verdict of an earlier grading: --force replaces it, --output names another place\n',
    };
    expect(await grade('twice')).toMatchObject(refused);
    expect(entries('twice/jobs')[0]).toBe(job);
    expect((await grade('twice', '--force')).code).toBe(0);
    expect([entries('twice'), entries('twice/jobs').includes(job)]).toEqual([['jobs', 'judge', 'verdict.json'], false]);
    expect((await verified('twice')).exitCode).toBe(0);
    writeFileSync(join(scratch, 'twice/mine'), '');
    for (const place of ['twice', 'tests']) {
      const { code, stderr } = await grade(place, '--force');
      expect([code, stderr]).toEqual([2, `vouchbox: ${place} exists already; name another with --output\n`]);
    }
    expect(entries('.').filter((name) => name.includes('twice'))).toEqual(['twice']);
  });

  test('is absent after an interrupted grading, and the jobs of the grading are cancelled', async () => {
    const { client } = rig().alpha;
    const running = async () => (await client.list({ limit: 10 })).items.filter(({ status }) => status === 'running');
    writeFileSync(join(scratch, 'slow.py'), 'import time; time.sleep(300)');
    const words = ['grade', 'slow.py', '--tests', 'tests', '--limit', 'wall_seconds=300'];
    await using command = new Command(words, { cwd: scratch, env: env() });
    await expect.poll(running).not.toEqual([]);
    command.kill('SIGINT');
    const { code, stdout, stderr } = await command.ended();
    expect([code, stdout, stderr]).toEqual([130, '', 'vouchbox: interrupted: there is no verdict\n']);
    await expect.poll(running).toEqual([]);
    expect((await client.list({ limit: 1 })).items[0]?.status).toBe('cancelled');
  });

  describe('of a problem package', () => {
    const refusing = 'import sys; sys.exit(42 if sys.stdin.read() != "0 0\\n" else print("no zeros") or 43)';
    const files: Readonly<Record<string, string>> = {
      'problem.yaml': 'name: Sums & more\ntype: scoring\nvalidation: custom\nvalidator_flags: "0.5"\n',
      '.timelimit': '2',
      'data/testdata.yaml': 'grader_flags: ignore_sample\n',
      'data/secret/testdata.yaml': 'grader_flags: sum\non_reject: continue\n',
      'data/secret/a/testdata.yaml': 'grader_flags: min\naccept_score: 60\n',
      'data/secret/b/testdata.yaml': 'accept_score: 40\n',
      'data/sample/1.in': '1 2\n',
      'data/sample/1.ans': '3\n',
      'data/secret/a/1.in': '1000 1\n',
      'data/secret/a/1.ans': '1001.4\n',
      'data/secret/b/1.in': '2 1\n',
      'data/secret/b/1.ans': '3.4\n',
      'input_validators/zeros.py': refusing,
      'output_validators/near.py': `import sys
want, said = float(open(sys.argv[2]).read()), sys.stdin.read()
sys.exit(42 if said.strip().isdigit() and abs(float(said) - want) < float(sys.argv[4]) else 43)`,
    };
    const hostile = 'print("<b>no</b>")';

    beforeAll(() => {
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(scratch, 'sums', path)), { recursive: true });
        writeFileSync(join(scratch, 'sums', path), text);
      }
      writeFileSync(join(scratch, 'hostile.py'), hostile);
    });

    test('has the points of its groups, judged by its output validator, and verifies', async () => {
      const bad = await graded(
        'three.py',
        '--tests',
        'sums',
        '--check-inputs',
        '--output',
        'package',
        '--report',
        'page.html',
      );
      expect([bad.code, bad.stdout]).toEqual([
        1,
        expect.stringMatching(
          /\nsecret\/a {2}0\/1 accepted {2}0\/60\nsecret\/b {2}1\/1 accepted {2}40\/40\n(.*\n)*not accepted: 40 of 100 points\n$/,
        ),
      ]);
      expect((await verified('package')).exitCode).toBe(0);
      const page = readFileSync(join(scratch, 'page.html'), 'utf8');
      expect(page).toContain('<h1>Sums &amp; more</h1>');
      expect(page).toContain('40 of 100 points');
      expect(page).toContain('<pre>1 2\n</pre>');
      expect(page).not.toContain('1000 1');
    });

    test("comes with --report as a page that shows the program's output as text", async () => {
      expect((await graded('hostile.py', '--tests', 'sums', '--report', 'page.html')).code).toBe(1);
      expect(readFileSync(join(scratch, 'page.html'), 'utf8')).toContain('<pre>&lt;b&gt;no&lt;/b&gt;\n</pre>');
    });

    test('is absent if an input validator refuses an input', async () => {
      const input = join(scratch, 'sums/data/secret/b/1.in');
      writeFileSync(input, '0 0\n');
      const { code, stderr } = await graded('sum.py', '--tests', 'sums', '--check-inputs');
      expect([code, stderr]).toEqual([
        2,
        'vouchbox: secret/b/1: input_validators/zeros.py refuses its input (43): no zeros\n',
      ]);
      writeFileSync(input, files['data/secret/b/1.in'] ?? '');
    });
  });

  const jobs = (directory: string) => readdirSync(join(scratch, directory, 'jobs')).sort();
  const edit = (file: string, change: (text: string) => string) => {
    const path = join(scratch, file);
    writeFileSync(path, change(readFileSync(path, 'utf8')));
  };
  const forgeries: readonly [what: string, forge: (directory: string) => void, names: RegExp][] = [
    [
      'another verdict for a test',
      (at) => edit(`${at}/verdict.json`, (text) => text.replace('wrong_answer', 'accepted')),
      /verdict_file/,
    ],
    [
      'an event of a test',
      (at) => edit(`${at}/jobs/${jobs(at)[0]}/events.ndjson`, (text) => text.replace('"3"', '"4"')),
      /test \w+/,
    ],
    [
      'a test that is left out',
      (at) => rmSync(join(scratch, at, 'jobs', jobs(at)[0] ?? ''), { recursive: true }),
      /test \w+/,
    ],
    [
      'the record of one test in place of another',
      (at) => {
        const [one = '', other = ''] = jobs(at).map((name) => join(scratch, at, 'jobs', name));
        rmSync(one, { recursive: true });
        cpSync(other, one, { recursive: true });
      },
      /test \w+/,
    ],
    [
      'a judge of one’s own',
      (at) => {
        const other = jobs(at)[0] ?? '';
        rmSync(join(scratch, at, 'judge'), { recursive: true });
        cpSync(join(scratch, at, 'jobs', other), join(scratch, at, 'judge'), { recursive: true });
      },
      /judge_program/,
    ],
  ];

  test.each(forgeries)('a verdict with %s is refused, and the message names the place', async (what, forge, names) => {
    const directory = `forged-${what.replaceAll(/\W/g, '')}`;
    cpSync(join(scratch, 'out'), join(scratch, directory), { recursive: true });
    forge(directory);
    const { exitCode, stderr } = await verified(directory);
    expect([exitCode, stderr]).toEqual([6, expect.stringMatching(names)]);
  });

  test.each([
    ['no tests', ['sum.py', '--tests', '.'], /has no tests/],
    ['a directory that is there already', ['sum.py', '--tests', 'tests', '--output', 'tests'], /tests exists already/],
    [
      'a directory below a missing directory',
      ['sum.py', '--tests', 'tests', '--output', 'no/out'],
      /no\/out cannot be made: no is not a directory/,
    ],
    ['an input that is too large', ['sum.py', '--tests', 'large'], /large\/big\.in has 67108865 bytes/],
    ['an empty program', ['empty.py', '--tests', 'tests'], /the program is empty/],
  ])('%s is wrong usage', async (_what, words, says) => {
    const { code, stderr } = await graded(...words);
    expect([code, stderr]).toEqual([2, expect.stringMatching(says)]);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
