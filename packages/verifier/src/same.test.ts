/** Two signed results, compared by two people who hold them. */
import { afterAll, describe, expect, test } from 'vitest';
import { type AttestedJob, attestedJob, exportOf, line, Scratch, signingKey } from '../test/attested-job.ts';
import { serviceVerify } from './service-verify.ts';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());
let written = 0;

const [ONE, OTHER] = ['job_0197c0de-0000-7000-8000-000000000001', 'job_0197c0de-0000-7000-8000-000000000002'];
const says = (text: string) => ({ bodies: [line('stdout', text)] });
const job = attestedJob({ job_id: ONE, ...says('good') });
const key = scratch.write('key.pem', job.key.publicKeyPem);
const stranger = signingKey();

function envelopeOf({ attestation }: AttestedJob): string {
  return scratch.write(`envelope-${++written}`, attestation.envelope);
}

function directoryOf(exported: AttestedJob): string {
  return scratch.writeAll(`export-${++written}`, exportOf(exported));
}

async function compare(one: string, other: string, ...more: readonly string[]) {
  const { exitCode, stdout } = await serviceVerify(['same', one, other, '--public-key', key, ...more, '--json']);
  const { checks } = JSON.parse(stdout) as { checks: { detail: string }[] };
  return { exitCode, said: checks.at(-1)?.detail };
}

describe('service-verify same compares two results of a job, and says', () => {
  test('ONE RESULT for the same statement, in envelopes and in exports', async () => {
    expect(await compare(envelopeOf(job), directoryOf(job))).toEqual({ exitCode: 0, said: 'ONE RESULT' });
  });

  test('ONE RESULT even if a later key signed the statement again', async () => {
    const again = attestedJob({ job_id: ONE, ...says('good'), key: stranger });
    const later = scratch.write('later.pem', stranger.publicKeyPem);
    expect(await compare(envelopeOf(job), envelopeOf(again), '--public-key', later)).toMatchObject({ exitCode: 0 });
  });

  test('TWO RESULTS for one job with two different results', async () => {
    const other = attestedJob({ job_id: ONE, ...says('bad') });
    const { exitCode, said } = await compare(directoryOf(job), directoryOf(other));
    expect({ exitCode, said }).toEqual({
      exitCode: 6,
      said: expect.stringContaining(`TWO RESULTS of ${ONE}: the result`),
    });
  });

  test('TWO RESULTS for one job with two different statements, and names the difference', async () => {
    const other = attestedJob({ job_id: ONE, ...says('good'), tenant_number: 8 });
    expect(await compare(envelopeOf(job), envelopeOf(other))).toEqual({
      exitCode: 6,
      said: `TWO RESULTS of ${ONE}: tenantJobNumber`,
    });
  });

  test('TWO RESULTS for two jobs of a tenant with the same number', async () => {
    const other = attestedJob({ job_id: OTHER, ...says('good') });
    expect(await compare(envelopeOf(job), envelopeOf(other))).toEqual({
      exitCode: 6,
      said: `TWO RESULTS of job 7 of acme: ${ONE} and ${OTHER}`,
    });
  });

  test.each([
    ['with different numbers', { tenant_number: 8 }],
    ['of which one has no number', { tenant_number: null }],
    ['of different tenants', { tenant: 'other' }],
  ])('NOT COMPARABLE for two jobs %s', async (_what, change) => {
    const other = attestedJob({ job_id: OTHER, ...says('good'), ...change });
    expect(await compare(envelopeOf(job), envelopeOf(other))).toEqual({
      exitCode: 5,
      said: 'NOT COMPARABLE: they are of two jobs',
    });
  });
});

test('a result signed with an unknown key is refused, and proves no contradiction', async () => {
  const forged = attestedJob({ job_id: ONE, ...says('bad'), key: stranger });
  const said = expect.stringContaining('no signature is valid under a pinned key') as string;
  expect(await compare(envelopeOf(job), envelopeOf(forged))).toEqual({ exitCode: 2, said });
});

test('a file that is missing or not an envelope is refused', async () => {
  const [good, none] = [envelopeOf(job), scratch.write('none', '{}')];
  expect(await compare(good, none)).toMatchObject({ exitCode: 2 });
  expect(await serviceVerify(['same', good, '/nowhere', '--public-key', key])).toMatchObject({ exitCode: 1 });
});
