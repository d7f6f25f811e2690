/** `vouchbox reproduce`: an exported job is run again by another operator's service, and the two results are compared. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { Rig } from '../rig/rig.ts';

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

let one: Rig;
let other: Rig;
let scratch: string;
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-reproduce-'));
  [one, other] = [await Rig.start({ 'attestation-mode': 'on' }), await Rig.start({ 'attestation-mode': 'on' })];
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

const reproduce = (directory: string, ...words: string[]) =>
  command('reproduce', directory, '--url', other.service.url, '--key', other.beta.key, ...words);
const jobsOfOther = async () => (await other.beta.client.list()).items.length;

describe('a job of one service', () => {
  test('is run again by another, whose export agrees with the first', async () => {
    const first = await exportOf(doubler, 'first');
    const { code, stdout } = await reproduce(first, ...keys);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('AGREE 2 of 2') });
    const words = ['agree', first, 'first-reproduced'].map((word, at) => (at === 0 ? word : join(scratch, word)));
    const pinned = keys.map((word) => (word.endsWith('.pem') ? join(scratch, word) : word));
    expect(await serviceVerify([...words, ...pinned, '--require', 'operators>=2'])).toMatchObject({ exitCode: 0 });
  });

  test('is the same job of the other service if it is asked for twice', async () => {
    const before = await jobsOfOther();
    expect(await reproduce('first', '--output', 'again', ...keys)).toMatchObject({ code: 0 });
    expect(await jobsOfOther()).toBe(before);
  });

  test('does not replace what is there, and sends nothing then', async () => {
    const before = await jobsOfOther();
    const { code, stderr } = await reproduce('first', ...keys);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('exists already') });
    expect(await jobsOfOther()).toBe(before);
  });

  test('that prints what no seed fixes differs, by the name of what differs', async () => {
    const random = { language: 'python', code: 'import uuid\nprint(uuid.uuid4())' };
    const { code, stdout } = await reproduce(await exportOf(random, 'random'), '--json', ...keys);
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 6, agreement: 'differ', members: ['stdout'] });
  });

  test('is checked by the keys in the exports if none is pinned, and the reader is told so', async () => {
    const { code, stderr } = await reproduce('first', '--output', 'unpinned');
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('no key was pinned') });
  });
});

describe('nothing is sent', () => {
  async function expectRefused(directory: string, says: string, ...words: string[]): Promise<void> {
    const before = await jobsOfOther();
    const { code, stderr } = await reproduce(directory, '--output', `of-${directory}`, ...words);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(says) });
    expect(await jobsOfOther()).toBe(before);
  }

  test('of an export that was changed', async () => {
    const changed = await exportOf(doubler, 'changed');
    const code = join(scratch, changed, 'code');
    writeFileSync(code, readFileSync(code, 'utf8').replace('* 2', '* 3'));
    await expectRefused(changed, 'code is not as it is listed', ...keys);
  });

  test('of an export that no pinned key signed', async () => {
    await expectRefused('first', 'signature', '--public-key', 'other.pem');
  });

  test('of an export without its program', async () => {
    await expectRefused(await exportOf(doubler, 'bare', '--evidence-only'), 'it has no policy.json', ...keys);
  });

  test('of a program that talked to another', async () => {
    const pair = { language: 'bash', code: 'echo 1', interactor: { language: 'bash', code: 'read x' } };
    await expectRefused(await exportOf(pair, 'pair'), 'talked to that of another job', ...keys);
  });

  test('of what is no export', async () => {
    await expectRefused('.', 'is no export', ...keys);
  });
});
