/** A grading compiles a program once, under the build's limits, and never blames the program for its compiler. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GRADING_FILE, type Grading, JUDGE, VERDICT_FILE } from '@vouchbox/protocol/grading';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shippedPacks } from '../../packages/server/src/sandbox/packs/shipped-packs.fixture.ts';
import { vouchbox } from '../rig/command.ts';
import { hasEveryPack } from '../rig/form.ts';
import { useRig } from '../rig/rig.ts';

const { packs } = await shippedPacks(['lua', 'c']);
const SUM = '#include <bits/stdc++.h>\nint main() { long a, b; std::cin >> a >> b; std::cout << a + b; }';
const TESTS = [{ name: 'one', stdin: '1 2', expected: '3' }];
const roomy = { cpu_seconds: 60, wall_seconds: 60 };

/** Limits that are too low for a compiler but high enough for the program. */
const LIMITS: readonly [what: string, limits: Record<string, number>][] = [
  ['the CPU time', { cpu_seconds: 0.3 }],
  ['the memory', { mem_mb: 64 }],
  ['the processes', { max_pids: 2 }],
  ['the size of a file', { max_file_mb: 1 }],
];

/** A program whose product is larger than the files of a build may be. */
const HUGE = 'char data[70 << 20] = {1};\nint main() { return 0; }';

/** Programs and their verdicts. */
const JUDGED: readonly [code: string, verdict: string][] = [
  ['#error "No such luck"\nint main() {}', 'compile_error'],
  ['int other(); int main() { return other(); }', 'compile_error'],
  ['int main() { for (;;); }', 'time_limit'],
  [
    '#include <cstdlib>\n#include <cstring>\nint main() { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }',
    'memory_limit',
  ],
  [SUM, 'accepted'],
];

/** `npm run long` tries only these cases, in one isolation class, because a compiler takes a second or more of CPU time. */
const FEW: ReadonlySet<string> = new Set(['the memory', 'compile_error', 'accepted']);
const isTried = ([what, verdict]: readonly [string, unknown, ...unknown[]]) =>
  hasEveryPack || FEW.has(what) || (typeof verdict === 'string' && FEW.has(verdict));

describe.each(hasEveryPack ? ['namespace', 'gvisor'] : ['namespace'])('in the class of %s', (provider) => {
  const rig = useRig({ 'runtime-packs-dir': packs, provider });
  const grade = (code: string, limits: Record<string, number> = {}, language = 'cpp') =>
    rig().alpha.client.grade(code, { tests: TESTS, language, limits: { ...roomy, ...limits } });

  test.each(LIMITS.filter(isTried))(
    'a limit of %s applies to the program and not to its compiler',
    async (_what, limits) => {
      const { verdict } = await grade(SUM, limits);
      expect(verdict).toMatchObject({ accepted: true, program: { build: { compiler: null } } });
    },
  );

  test('a program whose compiler reaches a limit gets compile_limit, with the reason', async () => {
    const { verdict, notRun, jobs } = await grade(HUGE);
    expect(verdict).toMatchObject({ accepted: false, points: 0, tests: [{ verdict: 'compile_limit', run: null }] });
    expect(notRun).toEqual(
      new Map([['one', expect.stringMatching(/compiler met a limit: .*File size limit exceeded/)]]),
    );
    expect(jobs).toEqual([verdict.program.build?.job_id]);
  });

  test.each(JUDGED.filter(isTried))('the program %j gets its verdict: %s', async (code, verdict) => {
    const graded = await grade(code, { cpu_seconds: 6 });
    expect([graded.verdict.tests[0]?.verdict, graded.notRun.size]).toEqual([verdict, 0]);
  });

  test("the compiler's messages take no space from the judged output", async () => {
    const warnings = Array.from({ length: 6000 }, (_, line) => `#warning w${line}\n`).join('');
    const code = `${warnings}#include <stdio.h>\nint main(void) { int a, b; scanf("%d %d", &a, &b); printf("%d", a + b); }`;
    const { verdict } = await grade(code, {}, 'c');
    expect(verdict.tests[0]?.verdict).toBe('accepted');
  });
});

describe('with its evidence', () => {
  const rig = useRig({ 'runtime-packs-dir': packs, 'attestation-mode': 'on' });
  let scratch: string;
  beforeAll(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'svc-grade-compiled-'));
    await mkdir(join(scratch, 'tests'));
    writeFileSync(join(scratch, 'tests/one.in'), '1 2');
    writeFileSync(join(scratch, 'tests/one.out'), '3');
    writeFileSync(join(scratch, 'key.pem'), (await rig().alpha.client.publicKey()).public_key_pem);
  });
  afterAll(() => rmSync(scratch, { recursive: true }));

  const command = (...words: string[]) =>
    vouchbox(words, { cwd: scratch, env: { SERVICE_URL: rig().service.url, SERVICE_KEY: rig().alpha.key } });
  const verified = (name: string) =>
    serviceVerify(['verdict', join(scratch, name), '--public-key', join(scratch, 'key.pem'), '--tenant', 'alpha']);

  test('vouchbox grade names the limit that the compiler reached, and the verdict verifies', async () => {
    writeFileSync(join(scratch, 'huge.cpp'), HUGE);
    const words = ['grade', 'huge.cpp', '--tests', 'tests'];
    const { code, stdout } = await command(...words, '--output', 'out');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^one {2}compile_limit {2}0\/1 +the compiler met a limit: .*File size limit exceeded/);
    expect(await verified('out')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/test one +compile_limit/),
    });
    const asJson = await command(...words, '--json');
    expect(JSON.parse(asJson.stdout)).toMatchObject({ tests: [{ verdict: 'compile_limit' }] });
    expect(asJson.stderr).toMatch(/one was not run: the compiler met a limit/);
  });

  test("vouchbox grade shows the compiler's error message", async () => {
    writeFileSync(join(scratch, 'bad.cpp'), 'int main() { return missing; }');
    const { code, stdout, stderr } = await command('grade', 'bad.cpp', '--tests', 'tests');
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^one {2}compile_error {2}0\/1/)]);
    expect(stderr).toMatch(/the compiler: .*error: .*missing.* was not declared/);
  });

  test('service-verify refuses a verdict that calls a compiler limit a program limit', async () => {
    const { client } = rig().alpha;
    const ran = await client.run(SUM, { language: 'cpp', stdin: '1 2', limits: { cpu_seconds: 0.3 } });
    expect(ran.terminal_reason).toBe('cpu_limit');
    const { job_id, receipt_sha256, terminal_reason, exit_code, truncated, stdout, receipt } = ran;
    const said = { job_id, receipt_sha256, terminal_reason, exit_code, truncated, stdout };
    const grading: Grading = {
      program: { language: 'cpp', code_sha256: receipt.code_sha256 ?? null },
      tests: [{ name: 'one', points: 1, expected: '3', compare: 'lines', checker: null, ...said }],
    };
    const judged = await client.run(JUDGE, {
      files: { [GRADING_FILE]: JSON.stringify(grading) },
      outputs: [VERDICT_FILE],
    });
    const bytes = judged.files.get(VERDICT_FILE) as Uint8Array;
    expect(JSON.parse(Buffer.from(bytes).toString())).toMatchObject({ tests: [{ verdict: 'time_limit' }] });
    await mkdir(join(scratch, 'blamed/jobs'), { recursive: true });
    writeFileSync(join(scratch, 'blamed/verdict.json'), bytes);
    const evidence = async (id: string, place: string) =>
      expect((await command('export', id, '--evidence-only', '--output', `blamed/${place}`)).code).toBe(0);
    await evidence(judged.job_id, 'judge');
    await evidence(job_id, `jobs/${job_id}`);
    const { exitCode, stderr } = await verified('blamed');
    expect([exitCode, stderr]).toEqual([6, expect.stringMatching(/test one.*ended otherwise than time_limit says/)]);
  });
});
