/** A grading of compiled programs never blames a program for its compiler. */
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

/** The limits that a compiler may meet, and the reasons that are then given. */
const METS: readonly [what: string, code: string, limits: Record<string, number>, reason: RegExp][] = [
  ['the CPU time', SUM, { cpu_seconds: 0.3 }, /compiler met a limit: the CPU time ran out/],
  ['the wall clock', SUM, { wall_seconds: 0.3 }, /compiler met a limit: the wall clock ran out/],
  ['the memory', SUM, { mem_mb: 64 }, /compiler met a limit: more than 64 MiB of memory/],
  [
    'the processes',
    SUM,
    { max_pids: 2, wall_seconds: 2 },
    /compiler met a limit: (a new process was refused|the wall clock ran out)/,
  ],
  [
    'the size of a file',
    'char data[1012 << 10] = {1};\nint main() { return 0; }',
    { max_file_mb: 1 },
    /compiler met a limit: .*File size limit exceeded/,
  ],
  [
    'the space for files',
    'char data[60 << 20] = {1};\nint main() { return 0; }',
    { max_file_mb: 64, mem_mb: 1024 },
    /compiler met a limit: .*No space left/,
  ],
];

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

/** A compiler takes a second and more of a processor, so `npm test` tries a few, in one class. */
const FEW: ReadonlySet<string> = new Set(['the memory', 'the size of a file', 'compile_error', 'accepted']);
const isTried = ([what, verdict]: readonly [string, string, ...unknown[]]) =>
  hasEveryPack || FEW.has(what) || FEW.has(verdict);

describe.each(hasEveryPack ? ['namespace', 'gvisor'] : ['namespace'])('in the class of %s', (provider) => {
  const rig = useRig({ 'runtime-packs-dir': packs, provider });
  const grade = (code: string, limits: Record<string, number> = {}, language = 'cpp') =>
    rig().alpha.client.grade(code, { tests: TESTS, language, limits: { ...roomy, ...limits } });

  describe('a test whose compiler meets', () => {
    test.each(METS.filter(isTried))(
      'the limit of %s runs no test, and the reason is given',
      async (_what, code, limits, reason) => {
        const { verdict, notRun } = await grade(code, limits);
        expect(verdict).toMatchObject({ accepted: false, points: 0, tests: [{ verdict: 'not_run' }] });
        expect(notRun).toEqual(new Map([['one', expect.stringMatching(reason)]]));
      },
    );
  });

  test.each(JUDGED.filter(isTried))('the program itself is judged by what it does: %j', async (code, verdict) => {
    const graded = await grade(code, { cpu_seconds: 6 });
    expect([graded.verdict.tests[0]?.verdict, graded.notRun.size]).toEqual([verdict, 0]);
  });

  test('what a compiler wrote does not cut the output that is judged', async () => {
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
    writeFileSync(join(scratch, 'sum.cpp'), SUM);
    writeFileSync(join(scratch, 'key.pem'), (await rig().alpha.client.publicKey()).public_key_pem);
  });
  afterAll(() => rmSync(scratch, { recursive: true }));

  const command = (...words: string[]) =>
    vouchbox(words, { cwd: scratch, env: { SERVICE_URL: rig().service.url, SERVICE_KEY: rig().alpha.key } });
  const verified = (name: string) =>
    serviceVerify(['verdict', join(scratch, name), '--public-key', join(scratch, 'key.pem'), '--tenant', 'alpha']);

  test('the command names the reason, and the verdict is good', async () => {
    const words = ['grade', 'sum.cpp', '--tests', 'tests', '--limit', 'mem_mb=64'];
    const { code, stdout } = await command(...words, '--output', 'out');
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^one {2}not_run {2}0\/1 {2}\d+ ms {2}64\.0 MiB {2}the compiler met a limit: more than 64 MiB of memory/,
    );
    expect(await verified('out')).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/test one +not_run/) });
    const asJson = await command(...words, '--json');
    expect(JSON.parse(asJson.stdout)).toMatchObject({ tests: [{ verdict: 'not_run' }] });
    expect(asJson.stderr).toMatch(/one was not run: the compiler met a limit/);
  });

  test('a verdict that blames the program for a limit of its compiler is refused', async () => {
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
