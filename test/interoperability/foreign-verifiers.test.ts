/**
 * Third-party verifiers check the service's envelopes: openssl, Debian's python3-cryptography and Sigstore's own packages.
 */
import { createPublicKey } from 'node:crypto';
import { join } from 'node:path';
import { bundleFromJSON } from '@sigstore/bundle';
import { toSignedEntity, VerificationError, Verifier } from '@sigstore/verify';
import { decodeEnvelope, preAuthEncoding } from '@vouchbox/evidence';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, describe, expect, test } from 'vitest';
import { type AttestedJob, attestedJob, line, Scratch, signingKey } from '../../packages/verifier/test/attested-job.ts';
import { run } from './run.ts';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

const key = signingKey();
const keyFile = scratch.write('key.pem', key.publicKeyPem);
const jobs = ['', 'plain', 'é \u{1f600} \u2028 "\\'].map((text) =>
  attestedJob({ key, bodies: [line('stdout', text)] }),
);
const spoiled = jobs.map(({ attestation }) => withFlippedByte(attestation.envelope));

/** Changes one bit of the envelope's payload. */
function withFlippedByte(envelope: Uint8Array): Uint8Array {
  const value = JSON.parse(new TextDecoder().decode(envelope)) as { payload: string };
  const payload = Buffer.from(value.payload, 'base64');
  payload[payload.length >> 1] = (payload[payload.length >> 1] as number) ^ 1;
  return new TextEncoder().encode(JSON.stringify({ ...value, payload: payload.toString('base64') }));
}

let written = 0;
function file(content: string | Uint8Array): string {
  return scratch.write(`file-${++written}`, content);
}

describe('openssl pkeyutl', () => {
  async function verify(envelope: Uint8Array): Promise<number | null> {
    const decoded = decodeEnvelope(envelope);
    if (decoded.kind === 'refused') throw new Error(decoded.reason);
    const { payloadType, payload, signatures } = decoded.envelope;
    const message = file(preAuthEncoding(payloadType, payload));
    const signature = file(signatures[0]?.sig as Uint8Array);
    const words = ['pkeyutl', '-verify', '-pubin', '-inkey', keyFile, '-rawin', '-in', message, '-sigfile', signature];
    return (await run('openssl', words)).exitCode;
  }

  test("accepts the service's signatures over the pre-authentication encoding, and refuses changed signatures", async () => {
    for (const { attestation } of jobs) expect(await verify(attestation.envelope)).toBe(0);
    for (const envelope of spoiled) expect(await verify(envelope)).toBe(1);
  });

  test('reads and writes the public key in the same form as the service', async () => {
    const { stdout } = await run('openssl', ['pkey', '-pubin', '-in', keyFile, '-pubout']);
    expect(stdout).toBe(key.publicKeyPem);
  });
});

describe('python3-cryptography', () => {
  test("accepts the service's envelopes, and refuses changed envelopes", { tags: ['What-4b'] }, async () => {
    const envelopes = [...jobs.map(({ attestation }) => attestation.envelope), ...spoiled].map(file);
    const script = join(import.meta.dirname, 'verify_with_cryptography.py');
    // Debian's Python has Debian's packages. Another Python may come first in PATH.
    const { stdout, stderr } = await run('/usr/bin/python3', [script, keyFile, ...envelopes]);
    expect(stderr).toBe('');
    expect(stdout.trimEnd().split('\n')).toEqual([...jobs.map(() => 'good'), ...spoiled.map(() => 'bad')]);
  });
});

describe('@sigstore/bundle and @sigstore/verify', () => {
  async function bundleOf({ attestation }: AttestedJob): Promise<unknown> {
    const words = ['--envelope', file(attestation.envelope), '--public-key', keyFile];
    const { exitCode, stdout } = await serviceVerify(['bundle', ...words]);
    expect(exitCode).toBe(0);
    return JSON.parse(stdout) as unknown;
  }

  /** Verifies with unchanged Sigstore, which finds the pinned key by its hint, and needs neither a log nor a time stamp here. */
  function verify(bundle: unknown, pinned = key): void {
    const publicKey = (hint: string) => {
      if (hint !== key.key_id) throw new VerificationError({ code: 'PUBLIC_KEY_ERROR', message: `unknown ${hint}` });
      return { publicKey: createPublicKey(pinned.publicKeyPem), validFor: () => true };
    };
    const trust = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [], publicKey };
    const verifier = new Verifier(trust, { ctlogThreshold: 0, tlogThreshold: 0, timestampThreshold: 0 });
    verifier.verify(toSignedEntity(bundleFromJSON(bundle)));
  }

  test('accept a bundle that service-verify made with media type version 0.3', async () => {
    for (const job of jobs) {
      const bundle = await bundleOf(job);
      expect(bundleFromJSON(bundle).mediaType).toBe('application/vnd.dev.sigstore.bundle.v0.3+json');
      expect(() => verify(bundle)).not.toThrow();
    }
  });

  test('refuse a bundle with another key, another hint, or another payload', async () => {
    const bundle = (await bundleOf(jobs[0] as AttestedJob)) as Record<string, object>;
    expect(() => verify(bundle, signingKey())).toThrow('signature verification failed');
    const other = { ...bundle['verificationMaterial'], publicKey: { hint: 'other' } };
    expect(() => verify({ ...bundle, verificationMaterial: other })).toThrow('unknown other');
    const payload = Buffer.from('{}').toString('base64');
    const dsseEnvelope = { ...bundle['dsseEnvelope'], payload };
    expect(() => verify({ ...bundle, dsseEnvelope })).toThrow('signature verification failed');
  });
});
