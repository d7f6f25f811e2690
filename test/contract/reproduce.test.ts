/** `vouchbox reproduce`: another operator's service runs an exported job again, and the two results are compared. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunTools } from '@vouchbox/client';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { json, scriptedService } from '../../packages/client/test/scripted-service.ts';
import { whole } from '../../packages/client/test/whole-answer.ts';
import { shippedPacks } from '../../packages/server/src/sandbox/packs/shipped-packs.fixture.ts';
import { vouchbox } from '../rig/command.ts';
import { Rig } from '../rig/rig.ts';
import { onceOpen } from '../rig/tool-programs.ts';

const doubler = {
  language: 'python',
  code: `import sys
print({"a", "b", "c"}, sys.stdin.read(), sys.argv[1:])
open("output/b", "w").write(open("input/a").read() * 2)`,
  stdin: 'read\n',
  args: ['é', ''],
  env: { GREETING: 'hello' },
  files: [{ path: 'input/a', content_base64: btoa('abc') }],
  outputs: ['output/b'],
  limits: { wall_seconds: 20 },
  reproducible: true,
};

const { packs } = await shippedPacks(['lua', 'c']);
const SETTINGS = { 'attestation-mode': 'on', 'runtime-packs-dir': packs };

let one: Rig;
let other: Rig;
let scratch: string;
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-reproduce-'));
  [one, other] = [await Rig.start(SETTINGS), await Rig.start(SETTINGS)];
  for (const [name, { dataDir }] of Object.entries({ one, other })) {
    const words = ['attestation-keys', 'export', '--output', join(scratch, `${name}.pem`), '--data-dir', dataDir];
    expect((await vouchbox(words)).code).toBe(0);
  }
}, 120_000);
afterAll(async () => {
  rmSync(scratch, { recursive: true });
  expect([await one.stop(), await other.stop()]).toEqual([[], []]);
});

const keys = ['--public-key', 'one.pem', '--public-key', 'other.pem'];
const command = (...words: string[]) => vouchbox(words, { cwd: scratch });

async function exportOf(submission: object, name: string, ...words: string[]): Promise<string> {
  const { job_id } = await one.run(submission as never);
  const access = ['--url', one.service.url, '--key', one.alpha.key];
  expect((await command('export', job_id, '--output', name, ...access, ...words)).code).toBe(0);
  return name;
}

async function exportWithTools(code: string, name: string, tools: RunTools): Promise<string> {
  const { job_id } = await one.alpha.client.run(code, { tools });
  const access = ['--url', one.service.url, '--key', one.alpha.key];
  expect((await command('export', job_id, '--output', name, ...access)).code).toBe(0);
  return name;
}

const reproduce = (directory: string, ...words: string[]) =>
  command('reproduce', directory, '--url', other.service.url, '--key', other.beta.key, ...words);
const jobsOfOther = async () => (await other.beta.client.list()).items.length;

describe('vouchbox reproduce with a job of one service', () => {
  test('runs the job at another service, and the two exports agree', async () => {
    const first = await exportOf(doubler, 'first');
    const { code, stdout } = await reproduce(first, ...keys);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('AGREE 2 of 2') });
    const words = ['agree', first, 'first-reproduced'].map((word, at) => (at === 0 ? word : join(scratch, word)));
    const pinned = keys.map((word) => (word.endsWith('.pem') ? join(scratch, word) : word));
    expect(await serviceVerify([...words, ...pinned, '--require', 'operators>=2'])).toMatchObject({ exitCode: 0 });
  });

  test('makes one job at the other service, even if it is called twice', async () => {
    const before = await jobsOfOther();
    expect(await reproduce('first', '--output', 'again', ...keys)).toMatchObject({ code: 0 });
    expect(await jobsOfOther()).toBe(before);
  });

  test('submits nothing if its files would replace existing files', async () => {
    const before = await jobsOfOther();
    const { code, stderr } = await reproduce('first', ...keys);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('exists already') });
    expect(await jobsOfOther()).toBe(before);
  });

  test('names stdout as the difference if the job’s output is random', async () => {
    const random = { language: 'python', code: 'import uuid\nprint(uuid.uuid4())' };
    const { code, stdout } = await reproduce(await exportOf(random, 'random'), '--json', ...keys);
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 6, agreement: 'differ', members: ['stdout'] });
  });

  test('verifies with the keys in the exports if no key is pinned, and says that it does', async () => {
    const { code, stderr } = await reproduce('first', '--output', 'unpinned');
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('no key was pinned') });
  });

  test('works in the export’s directory, and refuses to run there twice', async () => {
    const words = ['reproduce', '.', '--url', other.service.url, '--key', other.beta.key];
    const within = () => vouchbox(words, { cwd: join(scratch, 'first') });
    rmSync(join(scratch, 'first-reproduced'), { recursive: true });
    expect([(await within()).code, (await within()).code]).toEqual([0, 2]);
  });

  test('gives the other job the same input bytes even if they are not text', async () => {
    const { blob } = await one.alpha.client.upload(Uint8Array.of(0xff, 0, 0x80));
    const counts = { language: 'python', code: 'import sys\nprint(list(sys.stdin.buffer.read()))', stdin: { blob } };
    expect((await reproduce(await exportOf(counts, 'bytes'), ...keys)).stdout).toContain('AGREE 2 of 2');
  });

  test('answers the other job’s tool calls from the export', async () => {
    const add = { arguments: { type: 'object', required: ['a'] }, execute: ({ a }: { a: number }) => a + 1 };
    const code = `print(tools.add(a=1), tools.add(a=2))
try:
    tools.add(b=1)
except tools.ToolError as error:
    print(error)`;
    expect((await reproduce(await exportWithTools(code, 'asking', { add }), ...keys)).stdout).toContain('AGREE 2 of 2');
  });

  test('finds agreement if the job makes concurrent tool calls in another order', async () => {
    const code = `
import asyncio, random
async def main():
    return await asyncio.gather(*(tools.double(n=n) for n in random.sample(range(8), 8)))
print(sorted(asyncio.run(main())))`;
    const first = await exportWithTools(code, 'asking-at-once', { double: onceOpen(8, ({ n }) => 2 * n) });
    expect((await reproduce(first, ...keys)).stdout).toContain('AGREE 2 of 2');
  });

  test('ends the other job if it calls a tool with other arguments, and names tool_calls as the difference', async () => {
    const code = 'import uuid\nprint(tools.keep(id=str(uuid.uuid4())))';
    const first = await exportWithTools(code, 'asking-otherwise', { keep: () => true });
    const { code: exit, stdout, stderr } = await reproduce(first, ...keys);
    expect(stderr).toMatch(/call 1 is \{"arguments":\{"id":.*, and the transcript has \{/);
    expect([exit, stdout]).toEqual([6, expect.stringMatching(/DIFFER: .*tool_calls/)]);
  });

  test('exits with 5 if both jobs were signed by the same key', async () => {
    const again = [
      'first',
      '--output',
      'own',
      '--url',
      one.service.url,
      '--key',
      one.beta.key,
      '--public-key',
      'one.pem',
    ];
    const { code, stdout } = await command('reproduce', ...again);
    expect({ code, stdout }).toEqual({
      code: 5,
      stdout: expect.stringContaining('signed by 1 key, and 2 are required'),
    });
  });

  test('compares the jobs even if only the first service’s key is pinned, and then exits with 2', async () => {
    const pem = readFileSync(join(scratch, 'one.pem'), 'utf8');
    writeFileSync(join(scratch, 'crlf.pem'), pem.replaceAll('\n', '\r\n'));
    const { code, stdout } = await reproduce('first', '--output', 'spaced', '--public-key', 'crlf.pem');
    expect({ code, stdout }).toEqual({ code: 2, stdout: expect.stringContaining('FAILED') });
  });
});

describe('vouchbox reproduce with a build', () => {
  const sum = {
    language: 'c',
    code: '#include <stdio.h>\nint main(void) { int x; scanf("%d", &x); printf("%d\\n", x + ADD); return 3; }',
  };
  const builtBy = async (rig: Rig, tenant: 'alpha' | 'beta') =>
    (await rig[tenant].client.submit({ ...sum, build: { options: ['-DADD=2'] } } as never)).job_id;

  test('finds that the builds of two services agree, and that the jobs that start their products agree', async () => {
    const first = await exportOf({ ...sum, build: { options: ['-DADD=1', '-Wall'] } }, 'build');
    const { code, stdout, stderr } = await reproduce(first, '--json', ...keys);
    const answer = JSON.parse(stdout) as { job_id: string };
    expect({ code, stderr, answer }).toMatchObject({ code: 0, stderr: '', answer: { agreement: 'agree' } });
    const { job_id } = await one.run({ ...sum, build: { options: ['-DADD=1', '-Wall'] } } as never);
    const started = await exportOf({ ...sum, product: { job_id }, stdin: '4\n' }, 'started');
    const refused = await reproduce(started, ...keys);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('with --product') });
    const again = await reproduce(started, '--product', answer.job_id, ...keys);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('AGREE 2 of 2') });
  });

  test('says that two jobs cannot be compared if their products were built with different options', async () => {
    const otherBuild = await builtBy(other, 'beta');
    const { code, stdout } = await reproduce('started', '--output', 'optionless', '--product', otherBuild, ...keys);
    expect({ code, stdout }).toEqual({ code: 5, stdout: expect.stringContaining('NOT COMPARABLE: inputs') });
  });

  test('refuses --product for a job that started no product', async () => {
    const { code, stderr } = await reproduce('first', '--output', 'none', '--product', 'job_x', ...keys);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('the job started no product') });
  });
});

describe('vouchbox reproduce at a malicious service', () => {
  const EVIL = '../x\u001b[2J';

  test('stops after --timeout if the service never ends the job, and names the job that still runs', async () => {
    const queued = whole('POST /v1/jobs', { job_id: 'job_1', status: 'queued' });
    await using service = await scriptedService([json(queued, 201), () => {}]);
    const words = ['--url', service.baseUrl, '--key', 'k', '--output', 'late', '--timeout', '1'];
    const { code, stderr } = await command('reproduce', 'first', ...words);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/job job_1 did not end and get signed within 1 s, .* run the command again/),
    });
  });

  test('stops after --timeout if the service never accepts the job', async () => {
    await using service = await scriptedService([() => {}]);
    const words = ['--url', service.baseUrl, '--key', 'k', '--output', 'late', '--timeout', '1'];
    const { code, stderr } = await command('reproduce', 'first', ...words);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('did not take the job within 1 s') });
  });

  test('requests no path and prints no terminal sequence that the service has put into a job id', async () => {
    await using service = await scriptedService([
      json(whole('POST /v1/jobs', { job_id: EVIL, status: 'queued' }), 201),
    ]);
    const words = ['--url', service.baseUrl, '--key', 'k', '--output', 'evil'];
    const { code, stdout, stderr } = await command('reproduce', 'first', ...words);
    expect({ code, isHarmless: !/[^\n -~…]/u.test(stdout + stderr) }).toEqual({ code: 1, isHarmless: true });
    expect(service.seen.filter(({ url }) => url.includes('..'))).toEqual([]);
  });
});

describe('vouchbox reproduce submits no job', () => {
  async function expectRefused(directory: string, says: string, ...words: string[]): Promise<void> {
    const before = await jobsOfOther();
    const { code, stderr } = await reproduce(directory, '--output', `of-${directory}`, ...words);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(says) });
    expect(await jobsOfOther()).toBe(before);
  }

  test('if the export was changed', async () => {
    const changed = await exportOf(doubler, 'changed');
    const code = join(scratch, changed, 'code');
    writeFileSync(code, readFileSync(code, 'utf8').replace('* 2', '* 3'));
    await expectRefused(changed, 'code is not as it is listed', ...keys);
  });

  test('if no pinned key signed the export', async () => {
    await expectRefused('first', 'signature', '--public-key', 'other.pem');
  });

  test('if the export lacks the program', async () => {
    await expectRefused(await exportOf(doubler, 'bare', '--evidence-only'), 'policy.json is missing', ...keys);
  });

  test('if the exported program had an interactor', async () => {
    const pair = { language: 'bash', code: 'echo 1', interactor: { language: 'bash', code: 'read x' } };
    await expectRefused(await exportOf(pair, 'pair'), 'talked to the program of another job', ...keys);
  });

  test('if the directory is not an export', async () => {
    await expectRefused('.', 'is not an export', ...keys);
  });
});
