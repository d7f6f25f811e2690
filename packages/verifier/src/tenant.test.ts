/** The exports of one tenant, and the numbers of its jobs. */
import { sign } from 'node:crypto';
import { promiseStatement, signStatement } from '@vouchbox/evidence';
import { afterAll, describe, expect, test } from 'vitest';
import { type AttestedJob, attestedJob, exportOf, line, Scratch, signingKey } from '../test/attested-job.ts';
import { serviceVerify } from './service-verify.ts';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());
let written = 0;

function jobOf(tenant_number: number | null, { at = tenant_number ?? 0, text = 'hello', tenant = 'acme' } = {}) {
  const job_id = `job_0197c0de-0000-7000-8000-${String(at).padStart(12, '0')}`;
  return attestedJob({ job_id, tenant_number, tenant, bodies: [line('stdout', text)] });
}

function directoryOf(job: AttestedJob): string {
  return scratch.writeAll(`export-${++written}`, exportOf(job));
}

const jobs = [1, 2, 3, 4].map((number) => jobOf(number));
const key = scratch.write('key.pem', (jobs[0] as AttestedJob).key.publicKeyPem);
const directories = jobs.map(directoryOf);

/** A file with a promise that the service made for one of the tenant's jobs. */
function promiseOf(
  changes: { readonly tenant?: string; readonly tenantJobNumber?: number | undefined },
  { key_id, privateKey } = (jobs[0] as AttestedJob).key,
): string {
  const time = '2026-01-01T00:00:00.000Z';
  const stated = {
    tenant: 'acme',
    jobId: 'job_0197c0de-0000-7000-8000-000000000099',
    acceptedAt: time,
    answerBy: time,
    logOrigin: 'log.example/log/1',
    logKey: 'key',
    submission: { code_sha256: '5a'.repeat(32) },
    tenantJobNumber: 4,
    ...changes,
  };
  const { tenantJobNumber, ...unnumbered } = stated;
  const promise = { ...unnumbered, ...(tenantJobNumber !== undefined && { tenantJobNumber }) };
  const signer = { key_id, sign: (message: Uint8Array) => new Uint8Array(sign(null, message, privateKey)) };
  return scratch.write(`promise-${++written}`, signStatement(promiseStatement(promise), signer).envelope);
}

function count(given: readonly string[], told: number) {
  return checkAll([...given, '--jobs', `${told}`]);
}

function promised(files: readonly string[], ...more: readonly string[]) {
  return checkAll([...directories, ...files.flatMap((path) => ['--promise', path]), ...more]);
}

async function checkAll(given: readonly string[]) {
  const words = ['tenant', ...given, '--public-key', key, '--tenant', 'acme', '--json'];
  const { exitCode, stdout } = await serviceVerify(words);
  const { checks } = JSON.parse(stdout) as { checks: { good: boolean; detail: string }[] };
  return { exitCode, failed: checks.flatMap(({ good, detail }) => (good ? [] : [detail])) };
}

describe('service-verify tenant', () => {
  test('accepts all jobs of a tenant, in any order, even if one is given twice', async () => {
    expect(await count(directories, 4)).toEqual({ exitCode: 0, failed: [] });
    expect(await count([...directories].reverse().concat(directories[1] as string), 4)).toMatchObject({ exitCode: 0 });
  });

  test('lists the missing numbers, even those after the last given job', async () => {
    expect(await count(directories.toSpliced(1, 2), 9)).toEqual({ exitCode: 5, failed: ['MISSING: 2 to 3, 5 to 9'] });
    expect(await count(directories.slice(1), 4)).toEqual({ exitCode: 5, failed: ['MISSING: 1'] });
  });

  test('counts up to the largest number in the exports, if a smaller number of jobs is given', async () => {
    expect(await count([directories[0], directories[3]] as string[], 1)).toEqual({
      exitCode: 5,
      failed: ['MISSING: 2 to 3'],
    });
  });

  test('says how many exports state no number, if a number is missing', async () => {
    const without = directoryOf(jobOf(null, { at: 99 }));
    const { failed } = await count([...directories.slice(0, 3), without], 4);
    expect(failed).toEqual(['MISSING: 4; 1 of the exports state no number']);
  });

  test('names a number that two jobs have', async () => {
    const other = jobOf(2, { at: 77 });
    const { exitCode, failed } = await count([...directories, directoryOf(other)], 4);
    expect({ exitCode, failed }).toEqual({
      exitCode: 6,
      failed: [`REPEATED: 2 is ${jobs[1]?.job_id} and ${other.job_id}`],
    });
  });

  test('names a job with two results', async () => {
    const { exitCode, failed } = await count([...directories, directoryOf(jobOf(2, { text: 'other' }))], 4);
    expect(exitCode).toBe(6);
    expect(failed).toEqual([expect.stringContaining(`TWO RESULTS of ${jobs[1]?.job_id}, in `)]);
  });

  test('shortens a long list of gaps', async () => {
    const odd = Array.from({ length: 25 }, (_, at) => directoryOf(jobOf(2 * at + 1)));
    const [said = ''] = (await count(odd, 999_999_999_999_999)).failed;
    expect(said.startsWith('MISSING: 2, 4, 6,')).toBe(true);
    expect(said.endsWith('40, 5 more gaps')).toBe(true);
  });

  test('refuses a job of another tenant and a changed job with the same exit codes as `directory`', async () => {
    const foreign = directoryOf(jobOf(5, { tenant: 'other' }));
    expect(await count([...directories, foreign], 5)).toMatchObject({ exitCode: 4 });
    const changed = new Map(exportOf(jobOf(5))).set('receipt.json', new TextEncoder().encode('{}'));
    const spoilt = scratch.writeAll('spoilt', changed);
    expect(await count([...directories, spoilt], 5)).toMatchObject({ exitCode: 6 });
  });

  test.each(['0', '-1', '1.5', 'x', ''])('does not accept "%s" as a number of jobs', async (told) => {
    const words = ['tenant', ...directories, '--public-key', key, '--tenant', 'acme', '--jobs', told];
    expect(await serviceVerify(words)).toMatchObject({ exitCode: 1 });
  });

  test('takes the number of jobs from promises too, and uses the largest', async () => {
    const [last, earlier] = [promiseOf({ tenantJobNumber: 6 }), promiseOf({ tenantJobNumber: 2 })];
    expect(await promised([earlier, last])).toEqual({ exitCode: 5, failed: ['MISSING: 5 to 6'] });
    expect(await promised([earlier])).toEqual({ exitCode: 0, failed: [] });
    expect(await promised([earlier], '--jobs', '5')).toEqual({ exitCode: 5, failed: ['MISSING: 5'] });
  });

  test.each<[what: string, file: string, exitCode: number, problem: string]>([
    ['a stranger signed', promiseOf({}, signingKey()), 2, 'no signature is valid under a pinned key'],
    ['was given to another tenant', promiseOf({ tenant: 'other' }), 4, 'the tenant is not acme'],
    ['has no number', promiseOf({ tenantJobNumber: undefined }), 4, 'does not say which job of its tenant it is'],
    ['is a result', scratch.write('result', (jobs[0] as AttestedJob).attestation.envelope), 4, 'it is no promise'],
  ])('refuses a promise that %s', async (_what, file, exitCode, problem) => {
    expect(await promised([file])).toEqual({ exitCode, failed: [expect.stringContaining(problem)] });
  });

  test('fails if the number of jobs is not given', async () => {
    const words = ['tenant', ...directories, '--public-key', key, '--tenant', 'acme'];
    expect(await serviceVerify(words)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('--jobs') as string,
    });
  });
});
