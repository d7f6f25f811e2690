import { sha256Hex } from '@vouchbox/evidence';
import { afterAll, describe, expect, test } from 'vitest';
import { attestedJob, Scratch } from '../test/attested-job.ts';
import { parsePolicy } from './policy.ts';
import { serviceVerify } from './service-verify.ts';
import { UsageError } from './usage-error.ts';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

const job = attestedJob({ code: 'print(1)', finished_at: new Date().toISOString() });
const given = [
  ['--envelope', scratch.write('envelope', job.attestation.envelope)],
  ['--subject', scratch.write('subject', job.attestation.result)],
  ['--public-key', scratch.write('key.pem', job.key.publicKeyPem)],
  ['--tenant', job.tenant],
].flat();

function policy(...more: readonly string[]) {
  return serviceVerify(['policy', ...given, ...more]);
}

describe('service-verify policy', () => {
  test('accepts a result that meets every requirement', async () => {
    const { exitCode, stdout } = await policy(
      ...['--require', 'status=succeeded', '--require', 'isolation>=gvisor-application-kernel'],
      ...['--require', 'networking=disabled', '--code-sha256', sha256Hex('print(1)'), '--max-age', '1h'],
    );
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('ok     max_age') });
    expect(stdout).toMatch(/status +succeeded/);
  });

  test('exits with 5, and lists the requirements that are met and the requirements that are not met', {
    tags: ['Authentication-10g'],
  }, async () => {
    const { exitCode, stdout, stderr } = await policy(
      ...['--require', 'status=failed', '--require', 'networking=disabled', '--require', 'mem_mb<=255'],
      ...['--code-sha256', '0'.repeat(64)],
    );
    expect(exitCode).toBe(5);
    expect(stdout.match(/^FAILED \S+/gm)).toEqual(['FAILED status=failed', 'FAILED mem_mb<=255', 'FAILED code_sha256']);
    expect(stdout).toMatch(/^ok {5}networking=disabled/m);
    expect(stdout).not.toContain('This shows');
    expect(stderr).toBe('service-verify: refused at status=failed: it is succeeded\n');
  });

  test('shows labels only if the receipt has them', async () => {
    const labelled = attestedJob({ receipt: { labels: ['course 7', 'a, b'] } });
    const { exitCode, stdout } = await serviceVerify([
      ...['policy', '--tenant', labelled.tenant, '--require', 'label=course 7'],
      ...['--envelope', scratch.write('labelled', labelled.attestation.envelope)],
      ...['--subject', scratch.write('labelled-subject', labelled.attestation.result)],
      ...['--public-key', scratch.write('labelled.pem', labelled.key.publicKeyPem)],
    ]);
    expect({ exitCode, said: stdout.match(/^ +labels .*/m)?.[0].trim() }).toEqual({
      exitCode: 0,
      said: 'labels           ["course 7","a, b"]',
    });
    expect((await policy('--require', 'status=succeeded')).stdout).not.toContain('labels');
  });

  test('checks no requirement if the result is refused', async () => {
    const { exitCode, stdout } = await policy('--require', 'status=succeeded', '--subject-name', 'svc://jobs/x/result');
    expect(exitCode).toBe(4);
    expect(stdout).not.toContain('status=succeeded');
  });

  test.each([
    [[]],
    [['--require', 'unknown=1']],
    [['--max-age', 'soon']],
    [['--code-sha256', 'AB'.repeat(32)]],
    [['--code-sha256', 'ab']],
  ])('is wrong usage with the options %j', async (more) => {
    expect(await policy(...more)).toMatchObject({ exitCode: 1, stdout: '' });
  });
});

describe('the age of a result', () => {
  const finished = Date.parse('2026-01-01T00:00:01.000Z');
  const predicate = { finishedAt: '2026-01-01T00:00:01.000Z', receipt: {} } as Parameters<
    NonNullable<ReturnType<typeof parsePolicy>>
  >[0];
  const isYoung = (now: number, finishedAt = predicate.finishedAt, maxAge = '1m') =>
    parsePolicy({ require: [], maxAge })?.({ ...predicate, finishedAt }, now).every(({ isGood }) => isGood);

  test.each([
    ['one millisecond below', 59_999, true],
    ['exactly at', 60_000, true],
    ['one millisecond above', 60_001, false],
  ])('is accepted up to the limit: %s', (_where, age, isGood) => {
    expect(isYoung(finished + age)).toBe(isGood);
  });

  test.each([
    ['0s', 0],
    ['90s', 90_000],
    ['15m', 900_000],
    ['12h', 43_200_000],
    ['7d', 604_800_000],
  ])('may be, with the limit %s, at most %i milliseconds', (maxAge, milliseconds) => {
    expect(isYoung(finished + milliseconds, undefined, maxAge)).toBe(true);
    expect(isYoung(finished + milliseconds + 1, undefined, maxAge)).toBe(false);
  });

  test.each(['', '5', 's', '1.5h', '-1h', '1w', '1 h', '1h30m', '1e3s', '1234567890s'])(
    'cannot be limited by %j, which is not a duration',
    (maxAge) => {
      expect(() => parsePolicy({ require: [], maxAge })).toThrow(UsageError);
    },
  );

  test('may be negative by up to 30 s, because the clock of a signer may be fast', () => {
    expect(isYoung(finished - 30_000)).toBe(true);
    expect(isYoung(finished - 30_001)).toBe(false);
  });

  test.each(['soon', '2026-01-01', '2026-01-01T00:00:01+00:00', '2026-13-01T00:00:01Z'])(
    'is unknown if the statement gives %s as the end of the job',
    (at) => {
      expect(isYoung(finished, at)).toBe(false);
    },
  );
});
