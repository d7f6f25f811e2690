import { generateKeyPairSync, sign } from 'node:crypto';
import type { EventBody, JobEvent, Receipt } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { attest, type EnvelopeSigner, type TerminalRecord } from './attest.ts';
import { canonicalJson } from './canonical-json.ts';
import { chainEvents, GENESIS_HASH } from './chain.ts';
import { outputEvidence } from './output.ts';
import { keyIdOf, parsePublicKey } from './public-key.ts';
import { sealReceipt, type UnsealedReceipt } from './receipt.ts';
import { resultArtifactBytes, resultSubjectName } from './result-artifact.ts';
import { verifyEnvelope } from './verify-envelope.ts';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string;
const signer: EnvelopeSigner = {
  key_id: keyIdOf(publicKey.export({ type: 'spki', format: 'der' })),
  sign: (message) => new Uint8Array(sign(null, message, privateKey)),
};

const at = '2026-01-01T00:00:01.000Z';
const outcome = { exit_code: 3, signal: null, terminal_reason: 'exited', duration_ms: 12 } as const;

/** A job that wrote these lines and failed. */
function record(lines: readonly string[]): TerminalRecord {
  const bodies: EventBody[] = [
    ...lines.map((text): EventBody => ({ kind: 'stdout', timestamp: at, data: { text } })),
    { kind: 'stderr', timestamp: at, data: { text: 'é', partial: true } },
    { kind: 'violation', timestamp: at, data: { type: 'pids', message: 'too many' } },
    { kind: 'finished', timestamp: at, data: { status: 'failed', ...outcome } },
  ];
  const events = chainEvents({ job_id: 'job_1', seq: 0, head: GENESIS_HASH }, bodies);
  const job = {
    tenant: 'acme',
    job_id: 'job_1',
    status: 'failed',
    ...outcome,
    created_at: at,
    started_at: at,
    finished_at: at,
  } as const;
  const event_chain = {
    hash_version: 1,
    genesis: GENESIS_HASH,
    head: events.at(-1)?.event_hash as string,
    count: events.length,
    complete: true,
  };
  const sealed = sealReceipt({ schema_version: 4, ...job, event_chain, output: outputEvidence(events) });
  return {
    job: { ...job, truncated: false, receipt_sha256: sealed.receipt_sha256 },
    receipt: sealed.receipt,
    events,
    kept: { salt: null, tenant_number: null },
  };
}

describe('the attestation of an ended job', () => {
  test('verifies under the pinned key', { tags: ['Artifact-9'] }, async () => {
    const result = attest(record(['one', 'two']), signer);
    if (result.kind !== 'attested') throw new Error(result.kind);
    const { attestation } = result;
    const verification = await verifyEnvelope({
      envelope: attestation.envelope,
      subject: attestation.result,
      publicKeys: [pem],
      expected: {
        tenant: 'acme',
        subjectName: resultSubjectName('job_1'),
        mediaType: 'application/vnd.svc.execution-result.v1+json',
      },
    });
    expect(verification).toMatchObject({ kind: 'verified', key_id: signer.key_id });
  });

  test('has a canonical result artifact with the exact output and the violations (Spec § Result artifact)', {
    tags: ['Artifact-1', 'Artifact-4'],
  }, () => {
    const result = attest(record(['one', '']), signer);
    if (result.kind !== 'attested') throw new Error(result.kind);
    const text = new TextDecoder().decode(result.attestation.result);
    const value: unknown = JSON.parse(text);
    expect(value).toMatchObject({
      _type: 'urn:svc:execution-result:v1',
      schema_version: 1,
      tenant: 'acme',
      stdout: 'one\n\n',
      stderr: 'é',
      truncated: false,
      violations: [{ type: 'pids', message: 'too many' }],
    });
    expect(canonicalJson(value)).toBe(text);
  });

  test.each([
    ['of many lines', Array.from({ length: 9000 }, (_, line) => `line ${line} \u0001 é "${line}"`)],
    ['of control characters', Array.from({ length: 24 }, () => '\0'.repeat(16 * 1024))],
    ['with a character that two records share', ['a\ud83d', '\ude00b']],
  ])('joins output %s into one canonical text', { tags: ['Artifact-4'] }, (_what, texts) => {
    const { job } = record([]);
    const events = texts.map((text) => ({ kind: 'stdout', data: { text, partial: true } }) as JobEvent);
    const text = new TextDecoder().decode(resultArtifactBytes(job, events));
    expect(JSON.parse(text)).toMatchObject({ stdout: texts.join(''), stderr: '', violations: [] });
    expect(canonicalJson(JSON.parse(text))).toBe(text);
  });

  test("has a leaf hash only if the statement has a salt and the signer's statements are logged", () => {
    const key = parsePublicKey(pem);
    if (key.kind === 'refused') throw new Error(key.reason);
    const salted = { ...record(['one']), kept: { salt: 'ab'.repeat(16), tenant_number: null } };
    const leafOf = (given: TerminalRecord, loggedKey: typeof key.key | null) => {
      const result = attest(given, { ...signer, loggedKey });
      return result.kind === 'attested' ? result.attestation.leaf_hash : result;
    };
    expect(leafOf(salted, key.key)).toHaveLength(32);
    expect(leafOf(salted, null)).toBeNull();
    expect(leafOf(record(['one']), key.key)).toBeNull();
  });

  test('has the same bytes when it is made again', () => {
    expect(attest(record(['one']), signer)).toEqual(attest(record(['one']), signer));
  });

  test('is refused for a record that contradicts itself', () => {
    const whole = record(['one', 'two']);
    expect(attest({ ...whole, events: whole.events.slice(0, -1) }, signer)).toEqual({
      kind: 'inconsistent',
      reason: 'the event chain is broken at 5: missing',
    });
    expect(attest({ ...whole, receipt: { ...whole.receipt, exit_code: 0 } }, signer).kind).toBe('inconsistent');
    expect(attest({ ...whole, job: { ...whole.job, receipt_sha256: GENESIS_HASH } }, signer).kind).toBe('inconsistent');
    expect(attest({ ...whole, job: { ...whole.job, job_id: 'job_2' } }, signer).kind).toBe('inconsistent');
  });

  test.each([
    { tenant: 'other' },
    { status: 'succeeded' },
    { exit_code: 0 },
    { signal: 'SIGKILL' },
    { terminal_reason: 'signaled' },
    { created_at: '2026-01-01T00:00:00.000Z' },
    { started_at: null },
    { finished_at: '2026-01-01T00:00:02.000Z' },
    { duration_ms: 13 },
    { truncated: true },
  ] as const)('is refused if the row of the job contradicts the receipt: %j', (changed) => {
    const whole = record(['one']);
    expect(attest({ ...whole, job: { ...whole.job, ...changed } }, signer)).toEqual({
      kind: 'inconsistent',
      reason: `the job's ${Object.keys(changed)[0]} differs from that of its receipt`,
    });
  });

  test('takes the tenant from the row if an older receipt has none (Spec § Result artifact)', {
    tags: ['Artifact-3', 'Artifact-7'],
  }, () => {
    const whole = record(['one']);
    const { tenant: _tenant, receipt_sha256: _digest, ...older } = whole.receipt as Receipt;
    const sealed = sealReceipt({ ...older, schema_version: 3 } as UnsealedReceipt);
    const job = { ...whole.job, receipt_sha256: sealed.receipt_sha256 };
    const result = attest({ ...whole, job, receipt: sealed.receipt }, signer);
    if (result.kind !== 'attested') throw new Error(result.kind);
    expect(JSON.parse(new TextDecoder().decode(result.attestation.result))).toMatchObject({ tenant: 'acme' });
  });

  test('is not made for a result over 16 MiB, and the size is reported instead', { tags: ['Limits-19'] }, () => {
    const bytesMax = 16 * 1024 * 1024;
    const bare = attest(record(['']), signer);
    if (bare.kind !== 'attested') throw new Error(bare.kind);
    const room = bytesMax - bare.attestation.result.length;
    for (const [extra, kind] of [
      [-1, 'attested'],
      [0, 'attested'],
      [1, 'too_large'],
    ] as const) {
      expect(attest(record(['x'.repeat(room + extra)]), signer).kind).toBe(kind);
    }
  });

  test('is not stored if its envelope exceeds 2 MiB, and the size is reported instead', { tags: ['Limits-20'] }, () => {
    const bytesMax = 2 * 1024 * 1024;
    const withPath = (characters: number) => {
      const whole = record(['']);
      const { receipt_sha256: _digest, ...receipt } = whole.receipt as Receipt;
      const path = 'x'.repeat(characters);
      const sealed = sealReceipt({ ...receipt, input_artifacts: [{ path, size_bytes: 0, sha256: GENESIS_HASH }] });
      const job = { ...whole.job, receipt_sha256: sealed.receipt_sha256 };
      return attest({ ...whole, job, receipt: sealed.receipt }, signer);
    };
    const bare = withPath(1);
    if (bare.kind !== 'attested') throw new Error(bare.kind);
    // Base64 turns 3 bytes of the payload into 4 bytes of the envelope.
    const room = Math.floor((bytesMax - bare.attestation.envelope.length) / 4) * 3;
    const largest = withPath(room);
    expect(largest.kind === 'attested' && bytesMax - largest.attestation.envelope.length).toBeLessThan(8);
    expect(withPath(room + 6)).toMatchObject({ kind: 'too_large', what: 'envelope', bytesMax });
  });
});
