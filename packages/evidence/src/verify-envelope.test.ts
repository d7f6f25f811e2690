import { describe, expect, test } from 'vitest';
import { ownVectors } from '../test/vectors.ts';
import { VERIFICATION_STEPS, type VerificationFailure, verifyEnvelope } from './verify-envelope.ts';

interface Case {
  id: string;
  exit: number;
  why: string;
  envelope_b64: string;
  subject_b64: string;
  public_key_pem: string;
  tenant: string;
  subject_name: string;
  media_type: string;
}
const { cases } = ownVectors<{ cases: Case[] }>('dsse/verifier-cases.json');
const EXIT_CODES: Record<VerificationFailure, number> = { signature: 2, subject: 3, profile: 4 };

function inputOf(row: Case) {
  return {
    envelope: Uint8Array.fromBase64(row.envelope_b64),
    subject: Uint8Array.fromBase64(row.subject_b64),
    publicKeys: [row.public_key_pem],
    expected: { tenant: row.tenant, subjectName: row.subject_name, mediaType: row.media_type },
  };
}

const good = cases.find(({ id }) => id === 'ok') as Case;
const otherKey = cases
  .find(({ id }) => id === 'key-pem-two')
  ?.public_key_pem.split(/(?<=END PUBLIC KEY-----\n)/)[0] as string;

describe('verifying an attestation (Spec § Authentication 10)', () => {
  test.each(cases.map((row) => [row.id, row] as const))(
    'gives the exit code of vector %s',
    { tags: ['ATT-02'] },
    async (_id, row) => {
      const result = await verifyEnvelope(inputOf(row));
      const exit = result.kind === 'verified' ? 0 : EXIT_CODES[result.failure];
      expect({ exit, result }).toMatchObject({ exit: row.exit });
    },
  );

  test.each(cases.map((row) => [row.id, row] as const))(
    'reports the checks that passed before the failed one: vector %s',
    async (_id, row) => {
      const result = await verifyEnvelope(inputOf(row));
      const steps = Object.keys(VERIFICATION_STEPS);
      const before = result.kind === 'verified' ? steps : steps.slice(0, steps.indexOf(result.step));
      expect(result.passed.map(({ step }) => step)).toEqual(before);
    },
  );

  test('passes every check in order if the attestation is good', async () => {
    const result = await verifyEnvelope(inputOf(good));
    expect(result.passed.map(({ step }) => step)).toEqual(Object.keys(VERIFICATION_STEPS));
  });

  test('refuses a statement about two results, and gives the number of results as the reason', {
    tags: ['Artifact-8', 'Authentication-10h'],
  }, async () => {
    const two = cases.find(({ id }) => id === 'two-subjects-one-matches') as Case;
    expect(await verifyEnvelope(inputOf(two))).toMatchObject({
      kind: 'refused',
      step: 'statement',
      failure: 'profile',
      reason: 'the statement has 2 subjects, not one',
    });
  });

  test('stops at the first check that fails, and reports the checks before', async () => {
    const result = await verifyEnvelope({ ...inputOf(good), subject: new Uint8Array([1]) });
    expect(result).toMatchObject({ kind: 'refused', step: 'subject_digest', failure: 'subject' });
    expect(result.passed.map(({ step }) => step)).toEqual([
      'key',
      'envelope',
      'signature',
      'payload_type',
      'statement',
    ]);
  });

  test('tries every pinned key, in any position', async () => {
    for (const publicKeys of [
      [otherKey, good.public_key_pem],
      [good.public_key_pem, otherKey],
    ]) {
      expect(await verifyEnvelope({ ...inputOf(good), publicKeys })).toMatchObject({ kind: 'verified' });
    }
    expect(await verifyEnvelope({ ...inputOf(good), publicKeys: [otherKey] })).toMatchObject({ step: 'signature' });
  });

  test('rejects with an error if a check meets something unexpected', async () => {
    const publicKeys = null as unknown as readonly string[];
    await expect(verifyEnvelope({ ...inputOf(good), publicKeys })).rejects.toThrow(TypeError);
  });

  test('refuses to start without a key, or if any pinned key is malformed', async () => {
    expect(await verifyEnvelope({ ...inputOf(good), publicKeys: [] })).toMatchObject({ step: 'key' });
    const publicKeys = [good.public_key_pem, 'nonsense'];
    expect(await verifyEnvelope({ ...inputOf(good), publicKeys })).toMatchObject({ step: 'key' });
  });
});
