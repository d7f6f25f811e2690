/**
 * `vouchbox export` makes a directory from a running service or from its data. `service-verify` accepts the directory
 * without the service.
 */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { slowTest } from '../rig/form.ts';
import { type Ran, Rig } from '../rig/rig.ts';

const doubler = {
  language: 'python',
  code: 'import sys\nsys.stdout.write(sys.stdin.read())\nopen("output/b", "w").write(open("input/a").read() * 2)',
  stdin: 'read\n',
  files: [{ path: 'input/a', content_base64: btoa('abc') }],
  outputs: ['output/b'],
};

let rig: Rig;
let ran: Ran;
let scratch: string;
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-export-'));
  rig = await Rig.start({ 'attestation-mode': 'on' });
  ran = await rig.run(doubler);
});
afterAll(async () => {
  rmSync(scratch, { recursive: true });
  expect(await rig.stop()).toEqual([]);
});

const exported = (job_id: string, ...words: string[]) => vouchbox(['export', job_id, ...words], { cwd: scratch });
const access = () => ['--url', rig.service.url, '--key', rig.alpha.key];
const filesOf = (directory: string) =>
  readdirSync(join(scratch, directory), { recursive: true, encoding: 'utf8' }).sort();

/** The verdict from `service-verify directory` with the key that the operator gives out. */
async function verified(directory: string, pem = 'pinned.pem') {
  const words = ['directory', join(scratch, directory), '--public-key', join(scratch, pem), '--tenant', 'alpha'];
  return await serviceVerify(words);
}

async function pin(name: string): Promise<void> {
  const words = ['attestation-keys', 'export', '--output', join(scratch, name), '--data-dir', rig.dataDir];
  expect((await vouchbox(words)).code).toBe(0);
}

describe('an export from a running service', () => {
  test('has every file of a job, and verifies with the pinned key', async () => {
    await pin('pinned.pem');
    expect(await exported(ran.job_id, ...access())).toMatchObject({
      code: 0,
      stdout: `${ran.job_id}\n`,
      stderr: expect.stringContaining(
        `npx --no service-verify directory ${ran.job_id} --public-key PINNED.pem --tenant alpha\n`,
      ),
    });
    expect(filesOf(ran.job_id)).toEqual([
      'attestation.dsse.json',
      'code',
      'events.ndjson',
      'input',
      'input/a',
      'manifest.json',
      'output',
      'output/b',
      'policy.json',
      'public-key.pem',
      'receipt.json',
      'result.json',
      'stdin',
    ]);
    expect(readFileSync(join(scratch, ran.job_id, 'output/b'), 'utf8')).toBe('abcabc');
    expect(readFileSync(join(scratch, ran.job_id, 'code'), 'utf8')).toBe(doubler.code);
    expect(await verified(ran.job_id)).toMatchObject({ exitCode: 0 });
  });

  test('omits the program with --evidence-only', async () => {
    expect((await exported(ran.job_id, ...access(), '--evidence-only', '--output', 'bare')).code).toBe(0);
    expect(filesOf('bare')).not.toContain('code');
    expect(await verified('bare')).toMatchObject({ exitCode: 0 });
  });

  test('leaves existing files as they are', async () => {
    const again = await exported(ran.job_id, ...access(), '--output', 'bare');
    expect(again).toMatchObject({ code: 2, stdout: '' });
    expect(again.stderr).toMatch(/bare exists already/);
    expect(await verified('bare')).toMatchObject({ exitCode: 0 });
  });

  test("of another tenant's job, or of an unknown job, is refused and writes nothing", async () => {
    const foreign = await exported(ran.job_id, '--url', rig.service.url, '--key', rig.beta.key, '--output', 'foreign');
    expect([foreign.code, foreign.stdout]).toEqual([3, '']);
    expect(foreign.stderr).toContain('job_not_found');
    expect(existsSync(join(scratch, 'foreign'))).toBe(false);
  });

  slowTest('of a job that never ran, or of a job with much output, verifies too', async () => {
    const loud = await rig.run({ language: 'bash', code: 'seq 1 12000; exit 4' });
    const { job_id } = await rig.alpha.client.submit({ language: 'bash', code: 'sleep 60' });
    await rig.alpha.client.cancel(job_id);
    await rig.ended(job_id);
    for (const id of [loud.job_id, job_id]) {
      expect((await exported(id, ...access())).code).toBe(0);
      expect(await verified(id)).toMatchObject({ exitCode: 0 });
    }
  });

  slowTest('of a job signed by an older key needs that key as --public-key', async () => {
    const old = join(scratch, 'pinned.pem');
    expect((await vouchbox(['attestation-keys', 'rotate', '--data-dir', rig.dataDir])).code).toBe(0);
    const replaced = await vouchbox(['attestation-keys', 'export', '--output', old, '--data-dir', rig.dataDir]);
    expect([replaced.code, replaced.stderr]).toEqual([
      2,
      `vouchbox: ${old} exists already; name another with --output\n`,
    ]);
    const without = await exported(ran.job_id, ...access(), '--output', 'rotated');
    expect([without.code, existsSync(join(scratch, 'rotated'))]).toEqual([2, false]);
    expect(without.stderr).toMatch(/give that key with --public-key/);
    expect((await exported(ran.job_id, ...access(), '--output', 'rotated', '--public-key', old)).code).toBe(0);
    expect(await verified('rotated')).toMatchObject({ exitCode: 0 });
    await pin('fresh.pem');
    const wrong = ['--output', 'wrong', '--public-key', join(scratch, 'fresh.pem')];
    expect((await exported(ran.job_id, ...access(), ...wrong)).stderr).toMatch(/none of the given public keys signed/);
  });
});

describe('an export from the data directory of a service', () => {
  test('is refused while the service runs, and the message says to ask the service', async () => {
    const { code, stderr } = await exported(
      ran.job_id,
      '--data-dir',
      rig.dataDir,
      '--tenant',
      'alpha',
      '--output',
      'held',
    );
    expect(code).toBe(3);
    expect(stderr).toMatch(/^vouchbox: .*another service holds.*; ask the running service: give --url and --key\n$/);
  });

  slowTest('has the same files as one from the running service, whichever key signed the job', async () => {
    const own = await Rig.start({ 'attestation-mode': 'on' });
    const { job_id } = await own.run(doubler);
    const words = ['--url', own.service.url, '--key', own.alpha.key];
    expect((await exported(job_id, ...words, '--output', 'served')).code).toBe(0);
    expect((await vouchbox(['attestation-keys', 'rotate', '--data-dir', own.dataDir])).code).toBe(0);
    expect(await own.stop('kept')).toEqual([]);
    const data = ['--data-dir', own.dataDir, '--tenant', 'alpha'];
    expect((await exported(job_id, ...data, '--output', 'stored')).code).toBe(0);
    expect(filesOf('stored')).toEqual(filesOf('served'));
    for (const name of filesOf('stored').filter((path) => !['input', 'output'].includes(path))) {
      const [stored, served] = ['stored', 'served'].map((directory) => readFileSync(join(scratch, directory, name)));
      expect([name, stored?.equals(served ?? Buffer.of())]).toEqual([name, true]);
    }
    const other = await exported(job_id, '--data-dir', own.dataDir, '--tenant', 'beta', '--output', 'foreign');
    expect([other.code, existsSync(join(scratch, 'foreign'))]).toEqual([3, false]);
    expect(other.stderr).toMatch(/^vouchbox: no job .* of beta has ended here\n$/);
    rmSync(own.dataDir, { recursive: true });
  });
});

test.each([
  [['job_1'], 'name a service'],
  [['job_1', '--data-dir', '.'], '--tenant'],
  [['job_1', '--data-dir', '.', '--tenant', 'a', '--url', 'http://localhost:1', '--key', 'k'], 'not from both'],
])('vouchbox export %j is wrong usage', async (words, says) => {
  const { code, stderr } = await vouchbox(['export', ...words], { cwd: scratch });
  expect(code).toBe(2);
  expect(stderr).toContain(says);
});
