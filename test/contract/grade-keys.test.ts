/** `vouchbox grade --output` with a service that replaces its signing key during the grading. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Command, vouchbox } from '../rig/command.ts';
import { Rig } from '../rig/rig.ts';

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-grade-keys-'));
  // Programs run as another user, and that user must be able to read this directory.
  chmodSync(scratch, 0o755);
  const code = 'import os, time\nwhile not os.path.exists(input_path): time.sleep(0.02)';
  writeFileSync(join(scratch, 'waits.py'), `input_path = input()\n${code}`);
});
afterAll(() => rmSync(scratch, { recursive: true }));

/** Starts a service and a grading. Resolves once one test has ended and is signed; `waiting` tests run until released. */
async function gradingThatWaits(waiting: number) {
  const own = await Rig.start({ provider: 'subprocess', 'attestation-mode': 'on', concurrency: `${waiting + 1}` });
  const { client, key } = own.alpha;
  const env = { SERVICE_URL: own.service.url, SERVICE_KEY: key };
  const tests = `tests-${waiting}`;
  mkdirSync(join(scratch, tests));
  // Each program's input names a file, and the program ends once this file exists.
  const awaited = (at: number) => join(scratch, tests, at === 0 ? '0.in' : `${at}.released`);
  for (let at = 0; at <= waiting; at++) writeFileSync(join(scratch, tests, `${at}.in`), awaited(at));
  const output = `verdict-${waiting}`;
  const words = ['grade', 'waits.py', '--tests', tests, '--limit', 'wall_seconds=300', '--output', output];
  const command = new Command(words, { cwd: scratch, env });
  const patience = { timeout: 30_000 };
  const isSigned = (job_id: string) =>
    client.attestation(job_id).then(
      () => true,
      () => false,
    );
  const inStatus = async (status: 'running' | 'succeeded') =>
    (await client.list({ status: [status] })).items.map(({ job_id }) => job_id);
  await expect.poll(() => inStatus('succeeded'), patience).toHaveLength(1);
  await expect.poll(() => inStatus('running'), patience).toHaveLength(waiting);
  const [first = ''] = await inStatus('succeeded');
  await expect.poll(() => isSigned(first), patience).toBe(true);
  const ended = new Set([first]);
  return {
    command,
    output,
    env,
    waiting,
    /** The current key of the service, in a file. */
    keyFile: async () => {
      const { key_id, public_key_pem } = await client.publicKey();
      const file = join(scratch, `${key_id.replace(':', '-')}.pem`);
      writeFileSync(file, public_key_pem);
      return file;
    },
    replaceKey: () => vouchbox(['attestation-keys', 'rotate', '--data-dir', own.dataDir]),
    /** Lets a test's program end, and returns its signed job. */
    release: async (at: number) => {
      writeFileSync(awaited(at), '');
      await expect.poll(() => inStatus('succeeded'), patience).toHaveLength(at + 1);
      const [job_id = ''] = (await inStatus('succeeded')).filter((id) => !ended.has(id));
      ended.add(job_id);
      await expect.poll(() => isSigned(job_id), patience).toBe(true);
      return job_id;
    },
    async [Symbol.asyncDispose]() {
      await command[Symbol.asyncDispose]();
      expect(await own.stop()).toEqual([]);
    },
  };
}

/** Ends the waiting tests one by one, with a new key before each. Returns the files of all keys. */
async function finishedWithNewKeys({ waiting, ...grading }: Awaited<ReturnType<typeof gradingThatWaits>>) {
  const keys = [await grading.keyFile()];
  const job_ids: string[] = [];
  for (let at = 1; at <= waiting; at++) {
    expect((await grading.replaceKey()).code).toBe(0);
    keys.push(await grading.keyFile());
    job_ids.push(await grading.release(at));
  }
  const { code, stderr } = await grading.command.ended();
  expect(stderr).toContain('give each key that signed a job, each with --public-key');
  const pinned = keys.flatMap((file) => ['--public-key', file]);
  const verified = () => serviceVerify(['verdict', join(scratch, grading.output), ...pinned, '--tenant', 'alpha']);
  return { code, stderr, keys, job_ids, verified };
}

test('a verdict has the evidence of every job even if the service replaced its key during the grading', async () => {
  await using grading = await gradingThatWaits(1);
  const { code, stderr, verified } = await finishedWithNewKeys(grading);
  expect(code).toBe(0);
  expect(stderr).not.toContain('is missing');
  expect(await verified()).toMatchObject({ exitCode: 0 });
});

test('a verdict lacks only evidence signed by a key that the service did not name, and the message says how to add it', async () => {
  await using grading = await gradingThatWaits(2);
  const { code, stderr, keys, job_ids, verified } = await finishedWithNewKeys(grading);
  expect(code).toBe(1);
  const [job_id = ''] = job_ids;
  expect(stderr.match(/.* is missing, because .*/g)).toEqual([expect.stringContaining(`jobs/${job_id} is missing`)]);
  expect((await verified()).exitCode).not.toBe(0);
  const words = (/add it: vouchbox (.*)/.exec(stderr)?.[1] ?? '').replace('KEY', keys[1] ?? '').split(' ');
  expect(words).toContain(job_id);
  expect((await vouchbox(words, { cwd: scratch, env: grading.env })).code).toBe(0);
  expect(await verified()).toMatchObject({ exitCode: 0 });
});
