/** Spec § Builds: a program is compiled once, and jobs start the product. */
import type { GradingSubmission, JobSubmission } from '@vouchbox/protocol';
import type { Verdict2 } from '@vouchbox/protocol/grading-steps';
import { openCredentials } from '@vouchbox/server';
import { describe, expect } from 'vitest';
import { shippedPacks } from '../../packages/server/src/sandbox/packs/shipped-packs.fixture.ts';
import { filesOfGrading, problemsOf } from '../rig/drive-grading.ts';
import { hasEveryPack, slowTest, quickTest as test } from '../rig/form.ts';
import { type Answer, type Rig, useRig } from '../rig/rig.ts';

const { packs } = await shippedPacks(hasEveryPack ? ['lua', 'c', 'ruby', 'php', 'r', 'java'] : ['lua', 'c']);

const PROGRAMS: Readonly<Record<string, string>> = {
  c: '#include <stdio.h>\nint main(int n, char **words) { int x; scanf("%d", &x); printf("%s %d\\n", words[1], x + ADD); return 0; }',
  cpp: '#include <iostream>\nint main(int, char **words) { int x; std::cin >> x; std::cout << words[1] << " " << x + ADD << "\\n"; }',
  java: `public class Main {
  record Sum(int x) {}
  public static void main(String[] words) {
    System.out.println(words[0] + " " + new Sum(new java.util.Scanner(System.in).nextInt() + 1).x());
  }
}`,
};
const languages = hasEveryPack ? ['c', 'cpp', 'java'] : ['c', 'cpp'];
const optionsOf = (language: string) => (language === 'java' ? ['-Xlint:all'] : ['-DADD=1', '-O1', '-Wall']);
const buildOf = (language: string, more: object = {}) =>
  ({ language, code: PROGRAMS[language] ?? '', build: { options: optionsOf(language) }, ...more }) as JobSubmission;
/** A refusal's status, code and pointer. The message of a refusal begins with the pointer. */
const refusalOf = ({ status, json }: Answer) => [
  status,
  json.error.code as string,
  (json.error.message as string).split(' ')[0],
];

async function built(rig: Rig, language: string) {
  const { job_id, result, detail } = await rig.run(buildOf(language));
  expect([result.stderr, result.status]).toEqual(['', 'succeeded']);
  return { job_id, result, detail };
}

describe.each(['namespace', 'gvisor'])('in the class of %s', (provider) => {
  const rig = useRig({ provider, 'runtime-packs-dir': packs });

  test.each(languages)(
    'a program in %s is built once, and its product then starts without a compiler',
    {
      tags: ['Submission-48', 'Builds-1', 'Builds-2'],
    },
    async (language) => {
      const build = await built(rig(), language);
      const [product] = build.result.large_outputs ?? [];
      expect(product?.path).toBe('output/product');
      const code = PROGRAMS[language] ?? '';
      for (const x of [1, 2]) {
        const test = { language, code, product: { job_id: build.job_id }, stdin: `${x}\n`, args: ['a b'] };
        const { result, detail } = await rig().run({ ...test, limits: { cpu_seconds: 2 } } as JobSubmission);
        expect([result.stderr, result.stdout, result.status]).toEqual(['', `a b ${x + 1}\n`, 'succeeded']);
        expect(detail.receipt).toMatchObject({
          product: { job_id: build.job_id },
          code_sha256: build.detail.receipt?.code_sha256,
          input_artifacts: [{ path: 'input/product', sha256: product?.sha256 }],
          program_usage: { memory_peak_bytes: expect.any(Number) },
        });
      }
    },
  );
});

const rig = useRig({ provider: 'namespace', 'runtime-packs-dir': packs });
const submit = (body: object, options: object = {}) => rig().post(body, options);
const C = { language: 'c', code: 'int main(void) { return ADD - 1; }', build: { options: ['-DADD=1'] } } as const;

/** The id of the job that the answer names. */
const jobOf = ({ json }: Answer) => json.job_id as string;
const replayed = ({ headers }: Answer) => headers.get('idempotency-replayed');

describe('a build', () => {
  test('of a program that was built before returns the earlier job, whatever the new idempotency key and limits are', {
    tags: ['Builds-3'],
  }, async () => {
    const first = await rig().run(C as unknown as JobSubmission);
    expect(first.result.status).toBe('succeeded');
    const same = [
      await submit(C),
      await submit(C, { headers: { 'idempotency-key': 'a' } }),
      await submit(C, { headers: { 'idempotency-key': 'a' } }),
      await submit({ ...C, limits: { cpu_seconds: 7 } }, { headers: { 'idempotency-key': 'b' } }),
    ];
    expect(same.map((answer) => [jobOf(answer), replayed(answer)])).toEqual(same.map(() => [first.job_id, 'true']));
    const others = [
      await submit({ ...C, build: { options: ['-DADD=2'] } }),
      await submit({ ...C, code: `${C.code} ` }),
      await submit({ ...C, files: [{ path: 'input/a.h', content_base64: '' }] }),
      await submit(C, { key: rig().beta.key }),
    ];
    for (const other of others) expect([other.status, replayed(other)]).toEqual([201, 'false']);
    expect(new Set([first.job_id, ...others.map(jobOf)]).size).toBe(5);
  });

  test('that fails has the compiler’s messages, and runs again when it is submitted again', {
    tags: ['Builds-4'],
  }, async () => {
    const wrong = { ...C, code: 'int main(void) { return ADD }' } as unknown as JobSubmission;
    const [one, other] = [await rig().run(wrong), await rig().run(wrong)];
    expect(one.result).toMatchObject({ status: 'failed', exit_code: null, large_outputs: [] });
    expect(one.result.violations.map(({ type }) => type)).toEqual(['compile']);
    expect(one.result.stderr).toContain('error:');
    expect(other.job_id).not.toBe(one.job_id);
    const start = await submit({ language: 'c', code: wrong.code, product: { job_id: one.job_id } });
    expect(refusalOf(start)).toEqual([422, 'input_unavailable', '/product/job_id']);
  });

  test('that fails reports what the compiler did, and does not report missing outputs', async () => {
    const { code } = C;
    const { result } = await rig().run({ language: 'c', code, outputs: ['output/a'] });
    expect(result.violations.map(({ type }) => type)).toEqual(['compile']);
  });

  test('whose product is too large fails, and its product cannot be started', {
    tags: ['Builds-4', 'Receipt-30a'],
  }, async () => {
    const code = 'char x[17 << 20] = {1}; int main(void) { return x[1]; }';
    const { job_id, result, detail } = await rig().run({ ...C, code } as unknown as JobSubmission);
    expect([result.status, detail.terminal_reason, result.large_outputs]).toEqual(['failed', 'compile_failed', []]);
    expect(result.violations.map(({ type }) => type)).toEqual(['compile', 'output_size']);
    expect(detail.receipt).not.toHaveProperty('program_usage');
    const start = await submit({ language: 'c', code, product: { job_id } });
    expect(refusalOf(start)).toEqual([422, 'input_unavailable', '/product/job_id']);
  });

  test('that reaches a limit reports this as a violation in the phase compile', { tags: ['Builds-4'] }, async () => {
    const code = `template <int N, int M> struct F { static const long v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v; };
template <int M> struct F<0, M> { static const long v = M; };
int main() { return F<20, 0>::v; }`;
    const { result, detail } = await rig().run({
      ...C,
      language: 'cpp',
      code,
      limits: { cpu_seconds: 1 },
    } as unknown as JobSubmission);
    expect([result.status, detail.terminal_reason]).toEqual(['timed_out', 'cpu_limit']);
    expect(result.violations).toEqual([expect.objectContaining({ type: 'cpu_time', phase: 'compile' })]);
  });

  test('can compile a whole standard library within its default limits', { tags: ['Builds-5'] }, async () => {
    const { detail } = await rig().run(C as unknown as JobSubmission);
    expect(detail.requested_spec.limits).toMatchObject({
      cpu_seconds: 30,
      wall_seconds: 60,
      mem_mb: 1024,
      max_file_mb: 64,
    });
    expect(detail.receipt).toMatchObject({
      build: { options: ['-DADD=1'] },
      large_outputs: [{ path: 'output/product' }],
    });
    expect(detail.receipt).not.toHaveProperty('program_usage');
  });

  const RUNNING_CODE = [
    '-wrapper',
    '-fplugin=/tmp/a',
    '-specs=a',
    '-B/tmp',
    '@input/a',
    '-march=native',
    '-Wl,-rpath',
    '-o',
    '-x',
    '-I/',
  ];
  test.each([
    ...RUNNING_CODE.map((option) => ['c', option] as const),
    ...['-processor', '-proc:full', '-J-Xmx1g', '@a', '-d', '-cp', '--source-path=/'].map(
      (option) => ['java', option] as const,
    ),
  ])('in %s refuses the option %s', { tags: ['Builds-6'] }, async (language, option) => {
    const answer = await submit({ ...C, language, build: { options: ['-g', option] } });
    expect(refusalOf(answer)).toEqual([400, 'invalid_request', '/build/options/1']);
  });

  test.each([
    [{ stdin: '' }, '/stdin'],
    [{ args: [] }, '/args'],
    [{ env: {} }, '/env'],
    [{ outputs: [] }, '/outputs'],
    [{ large_outputs: { paths: ['output/a'] } }, '/large_outputs'],
    [{ product: { job_id: 'a' } }, '/product'],
    [{ interactor: { language: 'c', code: 'a' } }, '/interactor'],
    [{ language: 'python' }, '/build'],
    [{ build: { options: 'a' } }, '/build/options'],
    [{ build: { more: 1 } }, '/build/more'],
  ])('is refused if it has a member that only a run may have: %j', { tags: ['Builds-6'] }, async (members, pointer) => {
    expect(refusalOf(await submit({ ...C, ...members }))).toEqual([400, 'invalid_request', pointer]);
  });
});

describe('a product', () => {
  test('must come from the same program and the same tenant', { tags: ['Builds-7'] }, async () => {
    const { job_id } = await rig().run(C as unknown as JobSubmission);
    const plain = await rig().run({ language: 'bash', code: 'echo a > output/product', outputs: ['output/product'] });
    const start = { language: 'c', code: C.code, product: { job_id } };
    const refused = [
      await submit(start, { key: rig().beta.key }),
      await submit({ ...start, code: `${C.code} ` }),
      await submit({ ...start, language: 'cpp' }),
      await submit({ ...start, runtime: 'c' }),
      await submit({ ...start, product: { job_id: 'job_none' } }),
      await submit({ ...start, product: { job_id: plain.job_id } }),
    ];
    for (const answer of refused) expect(refusalOf(answer)).toEqual([422, 'input_unavailable', '/product/job_id']);
    const odd = await submit({ ...start, files: [{ path: 'input/product', content_base64: '' }] });
    expect(refusalOf(odd)).toEqual([400, 'invalid_request', '/files/0/path']);
    const below = await submit({ ...start, files: [{ path: 'input/product/a', content_base64: '' }] });
    expect(refusalOf(below)).toEqual([400, 'invalid_request', '/files/0/path']);
    expect(refusalOf(await submit({ language: 'bash', code: ':', product: { job_id } }))[2]).toBe('/product');
  });

  test('is started once for one idempotency key; a repeated submission gets the same job', {
    tags: ['Builds-7'],
  }, async () => {
    const { job_id } = await rig().run(C as unknown as JobSubmission);
    const start = { language: 'c', code: C.code, product: { job_id } };
    const headers = { 'idempotency-key': 'start' };
    const first = await submit(start, { headers });
    expect([first.status, replayed(first)]).toEqual([201, 'false']);
    expect(jobOf(await submit(start, { headers }))).toBe(jobOf(first));
  });

  test('can be named only with a key that may read jobs', { tags: ['Builds-7'] }, async () => {
    const { job_id } = await rig().run(C as unknown as JobSubmission);
    await using operator = await openCredentials({ dataDir: rig().dataDir });
    const named = { tenant: 'alpha', principal: null, scopes: ['jobs:submit'] as const, expires_at: null };
    const { key } = await operator.create(named);
    const answer = await submit({ language: 'c', code: C.code, product: { job_id } }, { key });
    expect(refusalOf(answer).slice(0, 2)).toEqual([403, 'insufficient_scope']);
  });
});

describe('a grading of a compiled program', { tags: ['Builds-8'] }, () => {
  const signer = useRig({ provider: 'namespace', 'runtime-packs-dir': packs, 'attestation-mode': 'on' });
  const code =
    '#include <bits/stdc++.h>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b << std::endl; }';
  const checker = `#include "testlib.h"
int main(int count, char **words) { registerTestlibCmd(count, words); if (ouf.readInt() != ans.readInt()) quitf(_wa, "no"); quitf(_ok, "yes"); }`;
  const tests = [1, 2, 3].map((a) => ({ name: `${a}`, stdin: `${a} 1`, expected: `${a + 1}` }));
  const grading = {
    verdict: 'urn:svc:verdict:v2' as const,
    programs: [{ language: 'cpp', code }],
    tests,
    checker: { language: 'cpp', code: checker },
    limits: { cpu_seconds: 1 },
  } satisfies GradingSubmission;

  slowTest('builds the program and its checker once, and the verdict depends on both builds', async () => {
    const { client } = signer().alpha;
    const { grading_id } = await client.submitGrading(grading);
    const files = await filesOfGrading(client, grading_id);
    const said = JSON.parse(Buffer.from(files.verdict).toString()) as Verdict2;
    expect(said.tests.map(({ verdict }) => verdict)).toEqual(['accepted', 'accepted', 'accepted']);
    expect(said.program.build).toMatchObject({ terminal_reason: 'exited', compiler: null });
    for (const { run } of said.tests) expect(run).toMatchObject({ compiler: null, cpu_ms: expect.any(Number) });
    const details = await Promise.all([...files.jobs.keys()].map((id) => client.detail(id)));
    expect(details.filter(({ requested_spec }) => requested_spec.build !== undefined)).toHaveLength(2);
    expect(await problemsOf(client, files)).toEqual([]);

    // First, another build's evidence replaces the right build's evidence. Then the right build's evidence is missing.
    const { grading_id: other } = await client.submitGrading({
      ...grading,
      programs: [{ language: 'cpp', code: `${code} ` }],
    });
    const others = await filesOfGrading(client, other);
    const second = JSON.parse(Buffer.from(others.verdict).toString()) as Verdict2;
    const [id, id2] = [said.program.build?.job_id ?? '', second.program.build?.job_id ?? ''];
    const swapped = new Map(
      [...files.jobs].map(([key, job]) => [key, key === id ? (others.jobs.get(id2) ?? job) : job]),
    );
    expect(await problemsOf(client, { ...files, jobs: swapped })).toContainEqual(expect.stringMatching(/^build/));
    const without = new Map([...files.jobs].filter(([key]) => key !== id));
    expect(await problemsOf(client, { ...files, jobs: without })).toContainEqual(expect.stringMatching(/^build/));
  });

  slowTest('builds no program again that another grading of the tenant has built', async () => {
    const { client } = signer().alpha;
    const [one, other] = await Promise.all(
      [0, 1].map(async (at) => {
        if (at === 1) await client.waitForGrading((await client.submitGrading(grading)).grading_id);
        const { grading_id } = await client.submitGrading(grading);
        const files = await filesOfGrading(client, grading_id);
        return (JSON.parse(Buffer.from(files.verdict).toString()) as Verdict2).program.build?.job_id;
      }),
    );
    expect(other).toBe(one);
  });

  test('is refused if a file in its request would replace the product', { tags: ['Builds-2'] }, async () => {
    const other = await rig().run(C as unknown as JobSubmission);
    const from = { job_id: other.job_id, path: 'output/product' };
    const files = [{ path: 'input/product', from }];
    const c = { language: 'c', code: C.code } as const;
    const plan = { ...grading, programs: [c], checker: undefined };
    const [one] = tests;
    const bodies = [
      [{ ...plan, programs: [{ ...c, files }] }, '/programs/0/files/0/path'],
      [{ ...plan, tests: [one, { ...one, name: 'other', files }] }, '/tests/1/files/0/path'],
      [{ ...plan, checker: { ...c, files } }, '/checker/files/0/path'],
      [{ ...plan, interactor: { ...c, files } }, '/interactor/files/0/path'],
      [{ ...plan, validators: [c, { ...c, files }] }, '/validators/1/files/0/path'],
      [{ ...plan, programs: [{ ...c, files: [{ path: 'input/product/a', from }] }] }, '/programs/0/files/0/path'],
    ] as const;
    for (const [body, pointer] of bodies) {
      const answer = await rig().request('/v1/gradings', { method: 'POST', body });
      expect(refusalOf(answer)).toEqual([400, 'invalid_request', pointer]);
    }
  });

  test('reports that no test ran if the program does not compile or is too large for its compiler', async () => {
    const { client } = signer().alpha;
    const table = (bits: number) => `int table[1 << ${bits}] = {1}; int main() { return table[1]; }`;
    const { grading_id } = await client.submitGrading({
      ...grading,
      programs: [
        { language: 'cpp', code: 'int main() { return x }' },
        { language: 'cpp', code: table(26) },
        // This program compiles, but its product is larger than a product may be.
        { language: 'cpp', code: table(23) },
      ],
    });
    const { graded } = await client.waitForGrading(grading_id);
    const words = [];
    for (const { verdict } of graded) {
      const { artifacts } = await client.result(verdict?.job_id ?? '');
      const said = JSON.parse(Buffer.from(artifacts[0]?.content_base64 ?? '', 'base64').toString()) as Verdict2;
      words.push(said.tests.map((each) => [each.verdict, each.run]));
    }
    expect(words[0]).toEqual(tests.map(() => ['compile_error', null]));
    for (const limited of words.slice(1)) expect(limited).toEqual(tests.map(() => ['compile_limit', null]));
    expect(words).toHaveLength(3);
  });
});
