/** The tool `grade` of `vouchbox mcp`: an agent grades programs in the real service. */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shippedPacks } from '../../packages/server/src/sandbox/packs/shipped-packs.fixture.ts';
import { commandFile } from '../rig/command.ts';
import { useRig } from '../rig/rig.ts';

const { packs } = await shippedPacks(['lua', 'c']);
const rig = useRig({ 'attestation-mode': 'on', 'runtime-packs-dir': packs });
let client: Client;

beforeAll(async () => {
  client = new Client({ name: 'test', version: '1.0.0' });
  const env = { PATH: process.env['PATH'] ?? '', SERVICE_URL: rig().service.url, SERVICE_KEY: rig().alpha.key };
  await client.connect(new StdioClientTransport({ command: commandFile, args: ['mcp'], env, stderr: 'pipe' }));
});
afterAll(() => client.close());

interface ToolAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came
  readonly structuredContent?: any;
  readonly content: readonly { readonly text: string }[];
  readonly isError?: boolean;
}

type CallOptions = Parameters<Client['callTool']>[1];

const call = async (name: string, words: Record<string, unknown>, options?: CallOptions) =>
  (await client.callTool({ name, arguments: words }, options)) as unknown as ToolAnswer;
const grade = (words: Record<string, unknown>, options?: CallOptions) => call('grade', words, options);

const DOUBLE = { language: 'python', code: 'print(int(input()) * 2)' };
const RIGHT = { name: 'right', stdin: '21', expected: '42', points: 3 };
const WRONG = { name: 'wrong', stdin: '21', expected: '43' };

describe('a grading', () => {
  test('has the verdict of each program and each test, and the jobs behind them', async () => {
    const failing = { name: 'fails', language: 'python', code: 'import sys\nprint("why")\nsys.exit(3)' };
    const answer = await grade({ programs: [{ name: 'doubles', ...DOUBLE }, failing], tests: [RIGHT, WRONG] });
    expect(answer.isError).toBeFalsy();
    const { grading_id, status, programs } = answer.structuredContent;
    expect(status).toBe('finished');
    const judged = { status: 'judged', accepted: false, points_max: 4, build: null, tests_left_out: 0 };
    expect(programs).toMatchObject([
      { ...judged, name: 'doubles', points: 3 },
      { ...judged, name: 'fails', points: 0 },
    ]);
    const [right, wrong] = programs[0].tests;
    expect(right).toMatchObject({ name: 'right', verdict: 'accepted', points: 3, points_max: 3, exit_code: 0 });
    expect([right.cpu_ms, right.wall_ms, right.memory_peak_bytes].every((took) => took > 0)).toBe(true);
    const said = programs[1].tests[0];
    expect(said).toMatchObject({ verdict: 'runtime_error', terminal_reason: 'exited', exit_code: 3 });
    expect((await call('get_job', { job_id: said.job_id })).structuredContent.stdout).toBe('why\n');
    const judge = programs[0].judge_job_id;
    expect((await call('verify_job', { job_id: judge })).structuredContent).toMatchObject({ verdict: 'good' });
    expect(answer.content[0]?.text.split('\n').slice(0, 3)).toEqual([
      `${grading_id} finished`,
      `doubles not accepted: 3 of 4 points, judged by ${judge}`,
      `  wrong wrong_answer: 0 of 1 points, exit code 0, ${wrong.job_id}`,
    ]);
  });

  test('supports groups of tests, and a checker with its own file', async () => {
    const checker = {
      language: 'python',
      code: 'import sys\nsys.exit(open("input/output").read() != open("input/words/said").read())',
      files: [{ path: 'words/said', text: '42\n' }],
    };
    const groups = [
      { name: 'small', stop: true },
      { name: 'large', score: 'minimum', points: 60, after: ['small'] },
    ];
    const tests = ['20', '21'].map((stdin) => ({ name: `of ${stdin}`, stdin, group: 'small' }));
    const all = [...tests, { name: 'of 22', stdin: '22', group: 'large' }];
    const { structuredContent } = await grade({ programs: [DOUBLE], tests: all, groups, checker });
    expect(structuredContent.programs[0]).toMatchObject({
      groups: [
        { name: 'small', passed: false, points: 0, points_max: 2 },
        { name: 'large', passed: false, points: 0, points_max: 60 },
      ],
      tests: [
        { verdict: 'wrong_answer', check_job_id: expect.stringMatching(/^job_/) as string },
        { verdict: 'skipped', job_id: null },
        { verdict: 'skipped', job_id: null },
      ],
    });
  });

  test("shows the compiler's message between two marks", async () => {
    const code = '#error "No such luck"\nint main(void) { return 0; }';
    const { structuredContent, content } = await grade({ programs: [{ language: 'c', code }], tests: [RIGHT] });
    const [{ build, tests }] = structuredContent.programs;
    expect(build).toMatchObject({ compiler: 'error', stderr: expect.stringContaining('No such luck') as string });
    expect(tests).toMatchObject([{ verdict: 'compile_error', job_id: null }]);
    expect(content[0]?.text).toMatch(
      /^what the compiler wrote, between two lines ([0-9a-f]{16}):\n\1\n.*No such luck.*\n\1$/ms,
    );
  });

  test('runs each program under the limits that the call gives', async () => {
    const looping = { language: 'python', code: 'while True: pass' };
    const limits = { cpu_seconds: 0.3, memory_mb: 64 };
    const { structuredContent, content } = await grade({ programs: [looping], tests: [{ name: 'ends' }], ...limits });
    const [{ tests }] = structuredContent.programs;
    expect(tests).toMatchObject([{ verdict: 'time_limit', terminal_reason: 'cpu_limit' }]);
    expect((await rig().alpha.client.detail(tests[0].job_id)).effective_spec?.limits.mem_mb).toBe(64);
    expect(content[0]?.text).toContain(`  ends time_limit: 0 of 1 points, cpu_limit, ${tests[0].job_id}`);
  });

  test('of more than a hundred tests lists the failed tests, and says how many tests it leaves out', async () => {
    const many = Array.from({ length: 105 }, (_, index) => ({ name: `t${index}`, expected: index === 104 ? '1' : '' }));
    const { structuredContent } = await grade({ programs: [{ language: 'bash', code: 'true' }], tests: many });
    const [{ tests, tests_left_out, points, points_max }] = structuredContent.programs;
    expect([tests.length, tests_left_out, points, points_max]).toEqual([100, 5, 104, 105]);
    expect(tests.at(-1)).toMatchObject({ name: 't104', verdict: 'wrong_answer' });
  });
});

test('an agent that asks for progress sees each test and each program', async () => {
  const seen: { progress: number; message?: string | undefined }[] = [];
  await grade(
    { programs: [{ name: 'doubles', ...DOUBLE }], tests: [RIGHT, WRONG] },
    { onprogress: (one) => seen.push(one) },
  );
  const messages = seen.map(({ message }) => message);
  expect(messages).toEqual(expect.arrayContaining(['right: exited', 'wrong: exited', 'doubles: 3 of 4 points']));
  expect(seen.every(({ progress }, index) => index === 0 || progress > (seen[index - 1]?.progress ?? 0))).toBe(true);
});

test('an aborted call cancels its grading', async () => {
  const controller = new AbortController();
  const code = 'import time\nn = int(input())\nprint(n, flush=True)\ntime.sleep(n)';
  const tests = ['0', '200'].map((stdin) => ({ name: `sleeps ${stdin}`, stdin }));
  const onprogress = () => controller.abort();
  const words = { programs: [{ language: 'python', code }], tests, timeout_seconds: 300 };
  await expect(grade(words, { signal: controller.signal, onprogress })).rejects.toThrow(/abort/i);
  const [newest] = (await rig().alpha.client.gradings({ limit: 1 })).items;
  expect(await rig().alpha.client.waitForGrading(newest?.grading_id ?? '')).toMatchObject({ status: 'cancelled' });
});

test.each([
  ['two tests of one name', { programs: [DOUBLE], tests: [RIGHT, RIGHT] }, /two tests have the same name: right/],
  ['an unknown language', { programs: [{ language: 'cobol', code: '1' }], tests: [RIGHT] }, /unsupported_language/],
  ['no tests', { programs: [DOUBLE], tests: [] }, /tests/],
])('a faulty call gets an error that says what is wrong: %s', async (_what, words, reason) => {
  expect(await grade(words)).toMatchObject({
    isError: true,
    content: [{ text: expect.stringMatching(reason) as string }],
  });
});
