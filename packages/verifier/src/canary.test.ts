import { CANARY_TENANT } from '@vouchbox/evidence';
import { afterAll, expect, test } from 'vitest';
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

const LINES = [
  'mount: Operation not permitted',
  'ptrace: Operation not permitted',
  'egress_ipv4: No route to host',
  'egress_ipv6: Network is unreachable',
  'egress_metadata: No route to host',
  'processes: Resource temporarily unavailable',
];

function canaryOf(lines: readonly string[], options: JobOptions = {}): AttestedJob {
  return attestedJob({
    tenant: CANARY_TENANT,
    job_id: 'job_0197c0de-0000-7000-8000-00000000000c',
    finished_at: '2026-01-01T00:00:00.000Z',
    bodies: lines.map((text) => line('stdout', text)),
    also: { tried: lines },
    status: 'oom_killed',
    ...options,
  });
}

function namedBy({ attestation, job_id, receipt }: AttestedJob): JobOptions {
  const { finished_at: finishedAt } = receipt;
  return { also: { canary: { sha256: attestation.envelope_sha256, jobId: job_id, finishedAt } } };
}

const refusedAll = canaryOf(LINES);
const BUILT: JobOptions = { also: { tried: LINES, build: { server: '5a'.repeat(32) } } };
let count = 0;

/** What `service-verify directory` says about a job and a file with a canary. */
async function verified(
  options: JobOptions,
  canary: AttestedJob | null,
  require: readonly string[] = ['canary_age<=10m'],
) {
  const job = attestedJob(options);
  const directory = scratch.writeAll(`job-${++count}`, exportOf(job));
  const given = canary === null ? [] : ['--canary', scratch.write(`canary-${count}`, canary.attestation.envelope)];
  const words = require.flatMap((one) => ['--require', one]);
  const pinned = scratch.write(`key-${count}.pem`, job.key.publicKeyPem);
  return await serviceVerify(['directory', directory, '--public-key', pinned, '--tenant', 'acme', ...given, ...words]);
}

test('a canary whose attempts were all refused is reported with its age at the end of the job', async () => {
  const { exitCode, stdout } = await verified(namedBy(refusedAll), refusedAll);
  expect(exitCode).toBe(0);
  expect(stdout).toContain('REFUSED: 7 tries were refused, 1 s before the job ended');
});

test('a canary’s attempt to become a user that its cell does not map counts as refused', async () => {
  const canary = canaryOf([...LINES, 'setuid_0: Invalid argument']);
  expect(await verified(namedBy(canary), canary)).toMatchObject({ exitCode: 0 });
});

test.each([
  ['the canary is older', ['canary_age<=0s']],
  ['no canary is given', ['canary_age<=10m'], null],
] as const)(
  'a requirement on the age of a canary is not met if %s',
  async (_, require, canary: AttestedJob | null = refusedAll) => {
    expect(await verified(namedBy(refusedAll), canary, require)).toMatchObject({ exitCode: 5 });
  },
);

test('a job that names no canary is accepted only if no canary is required', async () => {
  expect(await verified({}, null)).toMatchObject({ exitCode: 5 });
  const { exitCode, stdout } = await verified({}, null, []);
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringContaining('NO CANARY') as string });
});

test.each([
  ['that was allowed an attempt', canaryOf([...LINES.slice(1), 'mount: allowed']), 'mount (allowed)'],
  ['whose mount failed for a wrong value', canaryOf([...LINES.slice(1), 'mount: No such device']), 'mount (No such'],
  [
    'whose mount failed for lack of a network',
    canaryOf([...LINES.slice(1), 'mount: No route to host']),
    'mount (No route to host)',
  ],
  [
    'whose attempt failed for lack of a process',
    canaryOf([...LINES, 'setuid_0: Resource temporarily unavailable']),
    'setuid_0 (R',
  ],
  [
    'that could not make any process',
    canaryOf([...LINES.slice(0, -1), 'processes: Operation not permitted']),
    'processes (O',
  ],
  [
    'with an attempt named like a member of every object',
    canaryOf([...LINES, 'constructor: allowed']),
    'constructor (allowed)',
  ],
  ['that left an attempt out', canaryOf(LINES.slice(1)), 'it does not mention mount'],
  ['that was not ended for its memory', canaryOf(LINES, { status: 'succeeded' }), 'not mention memory'],
  [
    'that wrote something else',
    canaryOf(LINES, { also: { tried: LINES.slice(1) } }),
    'its receipt has the digest of another output',
  ],
  ['of a tenant', canaryOf(LINES, { tenant: 'acme' }), 'it is not a canary'],
] as const)('a canary %s does not meet a requirement, and the report says why', async (_, canary, told) => {
  const required = await verified(namedBy(canary), canary);
  expect(required).toMatchObject({ exitCode: 5 });
  const { exitCode, stdout } = await verified(namedBy(canary), canary, []);
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringContaining(told) as string });
});

test.each([
  ['another canary than the job names', namedBy(canaryOf(LINES, { tenant_number: 9 })), refusedAll],
  ['a canary that the job does not name', {}, refusedAll],
  ['a canary of another class', undefined, canaryOf(LINES, { receipt: { isolation_class: 'linux-shared-kernel' } })],
  ['a canary of another host', undefined, canaryOf(LINES, { receipt: { host_posture_sha256: 'f'.repeat(64) } })],
  ['a canary that states the build of the service, which the job does not state', undefined, canaryOf(LINES, BUILT)],
  ['a canary that another key signed', undefined, canaryOf(LINES, { key: signingKey() })],
  ['a canary that ended after the job', undefined, canaryOf(LINES, { finished_at: '2026-01-01T00:01:00.000Z' })],
] as const)('an export with %s as its canary is refused', async (_, options, canary) => {
  expect(await verified(options ?? namedBy(canary), canary, [])).toMatchObject({ exitCode: 6 });
});
