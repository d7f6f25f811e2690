/** `@vouchbox/adapters`: a separate job compiles the program, under separate limits. */
import { openAdapter } from '@vouchbox/adapters';
import { describe, expect, test } from 'vitest';
import { shippedPacks } from '../../packages/server/src/sandbox/packs/shipped-packs.fixture.ts';
import { call, DOES_NOT_COMPILE, jobOf, useAdapter } from '../rig/adapter.ts';
import { hasEveryPack } from '../rig/form.ts';
import { useRig } from '../rig/rig.ts';

const { packs } = await shippedPacks(hasEveryPack ? ['c', 'java'] : ['c']);
const rig = useRig({ 'runtime-packs-dir': packs });

/** Compiling this program takes many times the time and memory that running it takes. */
const SUM = '#include <bits/stdc++.h>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b << "\\n"; }';
/** A similar program with less to compile. The compiler warns about its unused variable. */
const sumPlus = (more: number | string) =>
  `#include <cstdio>\nint main() { int unused, a, b; std::scanf("%d%d", &a, &b); std::printf("%d\\n", a + b + ${more}); }`;
const WARNS = /unused variable/;
const ofTheProgram = { milliseconds: 100, bytes: 20 * 2 ** 20 };
const JAVA = 'public class Main { public static void main(String[] words) { System.out.println(words.length); } }';

/** The details of all the tenant's builds with this source. */
async function buildsOf(code: string) {
  const details = [];
  for await (const { job_id } of rig().alpha.client.listAll()) details.push(await rig().alpha.client.detail(job_id));
  return details.filter(({ requested_spec: { build, code: source } }) => build !== undefined && source === code);
}

describe('the adapter for callers of Piston', () => {
  const url = useAdapter(rig, 'piston');
  const execute = (content: string, more = {}) =>
    call(`${url()}/api/v2/execute`, { language: 'c++', version: '*', files: [{ content }], stdin: '3 4', ...more });

  test('compiling and running are two jobs, each with its own time, memory and limits', async () => {
    const limits = { run_timeout: 500, run_cpu_time: 200, run_memory_limit: 2 ** 25 };
    const { json } = await execute(SUM, limits);
    expect(json).toMatchObject({
      compile: { code: 0, signal: null, status: null, message: null, stdout: '' },
      run: { code: 0, stdout: '7\n', output: '7\n' },
    });
    expect(json.compile.memory).toBeGreaterThan(ofTheProgram.bytes);
    expect(json.compile.cpu_time).toBeGreaterThan(ofTheProgram.milliseconds);
    expect(json.run.memory).toBeLessThan(ofTheProgram.bytes);
    expect(json.run.cpu_time).toBeLessThan(ofTheProgram.milliseconds);
  });

  test.runIf(hasEveryPack)('the answer has the member compile also for Java, but not for Python', async () => {
    const { json } = await execute(JAVA, { language: 'java', args: ['a'] });
    expect(json).toMatchObject({ compile: { code: 0 }, run: { code: 0, stdout: '1\n' } });
    expect((await execute('1', { language: 'python' })).json).not.toHaveProperty('compile');
  });

  test.each([
    ['compile_timeout', 100, 'TO'],
    ['compile_cpu_time', 100, 'TO'],
    ['compile_memory_limit', 2 ** 25, 'SG'],
  ])('%s limits the compiler; if the compiler reaches this limit, no program runs', async (limit, value, status) => {
    const { json } = await execute(`${SUM}//${limit}`, { [limit]: value });
    expect(json.compile).toMatchObject({ status, signal: 'SIGKILL', code: null });
    expect(json.run).toEqual(json.compile);
  });

  test('a program that runs longer than run_timeout is reported as ended in run, not in compile', async () => {
    const { json } = await execute('int main() { for (;;); }', { run_timeout: 200 });
    expect([json.compile.code, json.run.status, json.run.signal]).toEqual([0, 'TO', 'SIGKILL']);
  });

  test("if a program does not compile, the answer's members run and compile are equal", async () => {
    const { json } = await execute(DOES_NOT_COMPILE);
    expect(json.compile).toMatchObject({ code: 1, status: 'RE', stderr: expect.stringMatching(/error/) as string });
    expect(json.compile.output).toBe(json.compile.stderr);
    expect(json.run).toEqual(json.compile);
  });

  test('a compiler limit above its ceiling is refused, and the refusal names the limit', async () => {
    const { status, json } = await execute('', { compile_timeout: 1e9 });
    expect([status, json]).toEqual([400, { message: 'compile_timeout cannot exceed the configured limit of 300000' }]);
  });
});

describe('the adapter for callers of Judge0', () => {
  const url = useAdapter(rig, 'judge0');
  const submit = (source_code: string, more = {}, query = 'wait=true') =>
    call(`${url()}/submissions?${query}`, { language_id: 54, source_code, stdin: '3 4', ...more });

  test('time, memory and limits are measured for the program alone, without its compiler', async () => {
    const { json } = await submit(`${SUM}\n`, { cpu_time_limit: 0.2, wall_time_limit: 1, expected_output: '7' });
    expect(json).toMatchObject({ status: { id: 3 }, stdout: '7\n', compile_output: null });
    expect(Number(json.time) * 1000).toBeLessThan(ofTheProgram.milliseconds);
    expect(json.memory * 1024).toBeLessThan(ofTheProgram.bytes);
  });

  test('if a program does not compile, the answer has compile_output, and null in every member about a run', async () => {
    const { json } = await submit(DOES_NOT_COMPILE, {}, 'wait=true&fields=*');
    expect(json).toMatchObject({
      status: { id: 6, description: 'Compilation Error' },
      compile_output: expect.stringMatching(/error/) as string,
      stdout: null,
      stderr: null,
      message: null,
      time: null,
      memory: null,
      exit_code: null,
      exit_signal: null,
    });
  });

  test('compiler_options are passed to the compiler, and compile_output has its warnings', async () => {
    const source = sumPlus('MORE');
    const { json } = await submit(source, { compiler_options: '-DMORE=5 -O1  -Wall' });
    expect(json).toMatchObject({
      stdout: '12\n',
      stderr: null,
      compile_output: expect.stringMatching(WARNS) as string,
    });
    const inBase64 = await submit(
      Buffer.from(source).toString('base64'),
      { compiler_options: '-DMORE=5 -O1 -Wall', stdin: Buffer.from('1 1').toString('base64') },
      'wait=true&base64_encoded=true',
    );
    expect(Buffer.from(inBase64.json.compile_output, 'base64').toString()).toMatch(WARNS);
    expect(Buffer.from(inBase64.json.stdout, 'base64').toString()).toBe('7\n');
  });

  test.each([
    ['-march=native', 54, 'setting -march=native is not allowed'],
    ['-O2 -Wl,-rpath @x', 54, 'setting -Wl,-rpath @x is not allowed'],
    ['-O3', 71, 'setting compiler options is only allowed for compiled languages'],
    ['-O3 '.repeat(129), 54, 'is too long (maximum is 512 characters)'],
  ])('compiler_options %s for the language %d are refused', async (compiler_options, language_id, why) => {
    const { status, json } = await submit('1', { compiler_options, language_id });
    expect([status, json]).toEqual([422, { compiler_options: [why] }]);
  });

  test('blank compiler_options count as none, even for a language without a compiler', async () => {
    expect((await submit('print(1)', { compiler_options: ' ', language_id: 71 })).json.stdout).toBe('1\n');
    expect((await call(`${url()}/config_info`)).json.enable_compiler_options).toBe(true);
  });

  test('a submission that nobody waited for can be read by its token, even through another adapter', async () => {
    const { json } = await submit(sumPlus(2), { compiler_options: '-Wall' }, '');
    const failed = await submit(`${DOES_NOT_COMPILE}//`, {}, '');
    expect([json.token, failed.json.token]).toEqual([
      expect.stringMatching(/^[0-9a-f-]{36}$/),
      expect.stringMatching(/^[0-9a-f-]{36}$/),
    ]);
    const { client } = rig().alpha;
    await client.waitForResult(jobOf(json.token));
    await using other = await openAdapter('judge0', { client, host: '127.0.0.1', port: 0, key: null });
    const tokens = `${json.token},${failed.json.token}`;
    const read = await call(`${other.url}/submissions/batch?tokens=${tokens}&fields=stdout,compile_output,status_id`);
    expect(read.json.submissions).toEqual([
      { stdout: '9\n', compile_output: expect.stringMatching(WARNS) as string, status_id: 3 },
      { stdout: null, compile_output: expect.stringMatching(/error/) as string, status_id: 6 },
    ]);
  });

  test('a batch with one program and many inputs compiles the program once, and gives each input its own token', async () => {
    const source_code = sumPlus(3);
    const submissions = Array.from({ length: 6 }, (_, at) => ({ language_id: 54, source_code, stdin: `${at} 0` }));
    const { status, json } = await call(`${url()}/submissions/batch`, { submissions });
    expect([status, new Set(json.map(({ token }: { token: string }) => token)).size]).toEqual([201, 6]);
    for (const { token } of json) await rig().alpha.client.waitForResult(jobOf(token));
    const tokens = json.map(({ token }: { token: string }) => token).join(',');
    const read = await call(`${url()}/submissions/batch?tokens=${tokens}&fields=stdout`);
    expect(read.json.submissions).toEqual(submissions.map((_, at) => ({ stdout: `${at + 3}\n` })));
    expect(await buildsOf(source_code)).toHaveLength(1);
  });

  test('a batch whose program does not compile gives each of its submissions a token', async () => {
    const submissions = Array(3).fill({ language_id: 54, source_code: `${DOES_NOT_COMPILE} ` });
    const { json } = await call(`${url()}/submissions/batch`, { submissions });
    expect(new Set(json.map(({ token }: { token: string }) => token)).size).toBe(3);
  });
});

describe('the adapter for callers of SandboxFusion', () => {
  const url = useAdapter(rig, 'sandbox-fusion');
  const run = (code: string, more = {}) => call(`${url()}/run_code`, { language: 'cpp', code, stdin: '3 4', ...more });

  test('compile_result is the compiler’s result, and run_result the program’s', async () => {
    const { json } = await run(SUM, { run_timeout: 0.5, memory_limit_MB: 32 });
    expect(json).toMatchObject({
      status: 'Success',
      compile_result: { status: 'Finished', return_code: 0, stdout: '' },
      run_result: { status: 'Finished', return_code: 0, stdout: '7\n' },
    });
    expect(json.compile_result.execution_time).toBeGreaterThan(json.run_result.execution_time);
    expect((await run('1', { language: 'python' })).json.compile_result).toBe(null);
  });

  test('a compiler that exceeds compile_timeout ends at that limit, and nothing runs', async () => {
    const { json } = await run(`${SUM}//`, { compile_timeout: 0.1 });
    expect(json).toMatchObject({
      status: 'Failed',
      compile_result: { status: 'TimeLimitExceeded', return_code: null },
      run_result: null,
    });
  });

  test('a program that does not compile has no run_result', async () => {
    const { json } = await run(DOES_NOT_COMPILE);
    expect(json).toMatchObject({
      status: 'Failed',
      compile_result: { status: 'Finished', return_code: 1, stderr: expect.stringMatching(/error/) as string },
      run_result: null,
    });
  });
});
