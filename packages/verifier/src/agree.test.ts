/** Compares the results of one program from several services, as somebody who holds the exports does. */
import { EXPORT_MANIFEST, exportManifest } from '@vouchbox/evidence';
import { afterAll, describe, expect, test } from 'vitest';
import {
  type AttestedJob,
  attestedJob,
  exportOf,
  type JobOptions,
  line,
  Scratch,
  signingKey,
} from '../test/attested-job.ts';
import { serviceVerify } from './service-verify.ts';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());
let written = 0;

const [one, other] = [signingKey(), signingKey()];
const keys = [one, other].flatMap(({ publicKeyPem }, at) => [
  '--public-key',
  scratch.write(`key-${at}.pem`, publicKeyPem),
]);

const SAME: JobOptions = {
  code: 'print(1)',
  stdin: 'in',
  inputs: { 'input/a': '1' },
  outputs: { 'output/b': '2', 'output/c': '3' },
  bodies: [line('stdout', 'hello'), line('stderr', 'careful')],
};

function firstJob(change: JobOptions = {}): AttestedJob {
  return attestedJob({ ...SAME, key: one, ...change });
}

/** The same program, run by another operator under another name and for another tenant. */
function secondJob(change: JobOptions = {}): AttestedJob {
  return attestedJob({
    ...SAME,
    key: other,
    tenant: 'beta',
    job_id: 'job_0197c0de-0000-7000-8000-00000000000b',
    ...change,
  });
}

function directoryOf(job: AttestedJob): string {
  return scratch.writeAll(`export-${++written}`, exportOf(job));
}

async function agree(jobs: readonly (AttestedJob | string)[], ...more: readonly string[]) {
  const directories = jobs.map((job) => (typeof job === 'string' ? job : directoryOf(job)));
  const { exitCode, stdout, stderr } = await serviceVerify(['agree', ...directories, ...keys, ...more, '--json']);
  if (stdout === '') return { exitCode, stderr };
  const { checks, agreement, members, facts, notice } = JSON.parse(stdout) as {
    checks: { check: string; detail: string; good: boolean }[];
    agreement: string;
    members: string[];
    facts: Record<string, unknown>;
    notice: string | null;
  };
  const said = checks.find(({ check, good }) => check === 'agree' || !good)?.detail;
  return { exitCode, said, agreement, members, facts, notice, last: checks.at(-1) };
}

describe('service-verify agree says', () => {
  test('AGREE for the same result under two keys, and that only the reader knows whether their owners are independent', async () => {
    const { exitCode, said, facts, notice } = await agree([firstJob(), secondJob()], '--require', 'operators>=2');
    expect({ exitCode, said, operators: facts?.['operators'] }).toEqual({
      exitCode: 0,
      said: 'AGREE 2 of 2',
      operators: 2,
    });
    expect(notice).toContain('which only you can know');
  });

  test('AGREE for equal output, even if the services recorded it in different pieces', async () => {
    const pieces = (text: string) => ({
      kind: 'stdout' as const,
      timestamp: '2026-01-01T00:00:01.000Z',
      data: { text, partial: true as const },
    });
    const cut = secondJob({ bodies: [pieces('hel'), line('stdout', 'lo'), line('stderr', 'careful')] });
    expect(await agree([firstJob(), cut])).toMatchObject({ exitCode: 0, said: 'AGREE 2 of 2' });
  });

  test('AGREE for inputs with the same bytes, even if one service took its input from a job', async () => {
    const from = { 'input/a': { job_id: 'job_0197c0de-0000-7000-8000-0000000000aa', path: 'output/x' } };
    expect(await agree([firstJob({ from }), secondJob()])).toMatchObject({ exitCode: 0 });
  });

  test('one operator for two exports signed with one key', async () => {
    const jobs = [firstJob(), firstJob({ job_id: 'job_0197c0de-0000-7000-8000-00000000000c' })];
    expect(await agree(jobs)).toMatchObject({ exitCode: 0, facts: { operators: 1 } });
    const { exitCode, last, notice } = await agree(jobs, '--require', 'operators>=2');
    expect({ exitCode, last, notice }).toMatchObject({
      exitCode: 5,
      last: { check: 'operators', detail: 'signed by 1 key, and 2 are required' },
      notice: null,
    });
  });

  test.each<[string, JobOptions]>([
    ['stdout', { bodies: [line('stdout', 'hell0'), line('stderr', 'careful')] }],
    ['stderr', { bodies: [line('stdout', 'hello')] }],
    ['status, exit_code', { status: 'failed' }],
    ['outputs', { receipt: {}, outputs: { 'output/b': '2', 'output/c': '4' } }],
  ])('DIFFER: %s', async (what, change) => {
    const { exitCode, said, agreement, members, notice } = await agree([firstJob(), secondJob(change)]);
    expect({ exitCode, said, agreement, members, notice }).toEqual({
      exitCode: 6,
      said: `DIFFER: ${what}`,
      agreement: 'differ',
      members: what.split(', '),
      notice: null,
    });
  });

  test('DIFFER even if only the last of three exports differs', async () => {
    const jobs = [firstJob(), secondJob(), secondJob({ bodies: [line('stdout', 'x'), line('stderr', 'careful')] })];
    expect(await agree(jobs)).toMatchObject({ exitCode: 6, said: 'DIFFER: stdout' });
  });

  const otherPack = { runtime_pack: { name: 'science', version: '2.1', digest: 'cd'.repeat(32) } };
  test.each<[string, JobOptions]>([
    ['code', { code: 'print(2)' }],
    ['stdin', { stdin: 'IN' }],
    ['args', { receipt: { args_sha256: 'ab'.repeat(32) } }],
    ['inputs', { inputs: { 'input/a': '2' } }],
    ['pack', { receipt: otherPack }],
    ['pack', { receipt: { runtime_pack: null } }],
    ['policy.outputs', { outputs: { 'output/b': '2' } }],
  ])('NOT COMPARABLE: %s', async (what, change) => {
    const { exitCode, said, agreement } = await agree([firstJob(), secondJob(change)]);
    expect({ exitCode, said, agreement }).toEqual({
      exitCode: 5,
      said: `NOT COMPARABLE: ${what}`,
      agreement: 'not_comparable',
    });
  });

  test('NOT COMPARABLE for receipts that name no pack, because missing values never count as equal', async () => {
    const none = { receipt: { runtime_pack: null } };
    expect(await agree([firstJob(none), secondJob(none)])).toMatchObject({ said: 'NOT COMPARABLE: pack' });
  });

  test('NOT COMPARABLE for programs that talked to other programs', async () => {
    const interaction = { peer: 'job_0197c0de-0000-7000-8000-0000000000bb', role: 'program' } as const;
    const jobs = [firstJob({ receipt: { interaction } }), secondJob({ receipt: { interaction } })];
    expect(await agree(jobs)).toMatchObject({ said: 'NOT COMPARABLE: interaction' });
  });
});

describe('service-verify agree refuses', () => {
  test('an export that no pinned key signed', async () => {
    const { exitCode, agreement, facts } = await agree([firstJob(), secondJob({ key: signingKey() })]);
    expect({ exitCode, agreement, facts }).toEqual({ exitCode: 2, agreement: 'refused', facts: {} });
  });

  test('an export whose files were changed to match another export', async () => {
    const honest = secondJob({ bodies: [line('stdout', 'x')] });
    const files = new Map(honest.files).set('events.ndjson', firstJob().files.get('events.ndjson') as Uint8Array);
    const forged = scratch.writeAll('forged', new Map([...files, [EXPORT_MANIFEST, exportManifest(honest, files)]]));
    expect(await agree([firstJob(), forged])).toMatchObject({ exitCode: 6, agreement: 'refused' });
  });

  test('a directory that is not an export', async () => {
    const foreign = scratch.writeAll(
      'foreign',
      new Map<string, string | Uint8Array>([...exportOf(secondJob()), ['README.md', 'agree']]),
    );
    expect(await agree([firstJob(), foreign])).toMatchObject({ exitCode: 7, agreement: 'refused' });
  });

  test('a result that does not meet a requirement', async () => {
    expect(await agree([firstJob(), secondJob()], '--require', 'status=succeeded')).toMatchObject({ exitCode: 0 });
    const jobs = [firstJob(), secondJob({ receipt: { seccomp: null } })];
    expect(await agree(jobs, '--require', 'seccomp=filter')).toMatchObject({ exitCode: 5, agreement: 'refused' });
  });

  test.each(['operators>=two', 'operators=2', 'operators', 'operators<=2', 'nothing=1'])(
    'the requirement %s as wrong usage',
    async (text) => {
      expect(await agree([firstJob(), secondJob()], '--require', text)).toMatchObject({ exitCode: 1 });
    },
  );

  test('a single export as wrong usage', async () => {
    expect(await agree([firstJob()])).toMatchObject({ exitCode: 1 });
  });
});
