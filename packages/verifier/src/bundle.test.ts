import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { attestedJob, Scratch, signingKey } from '../test/attested-job.ts';
import { serviceVerify } from './service-verify.ts';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());

const job = attestedJob();
const envelope = scratch.write('envelope', job.attestation.envelope);
const key = scratch.write('key.pem', job.key.publicKeyPem);
const strangerKey = scratch.write('stranger.pem', signingKey().publicKeyPem);

function bundle(...more: readonly string[]) {
  return serviceVerify(['bundle', ...more]);
}

describe('service-verify bundle', () => {
  test('wraps the signature that verifies, under the id of the key that verified it', async () => {
    const original = JSON.parse(new TextDecoder().decode(job.attestation.envelope)) as {
      payload: string;
      payloadType: string;
      signatures: { sig: string }[];
    };
    const bad = { keyid: 'other', sig: Buffer.alloc(64, 1).toString('base64') };
    const two = scratch.write(
      'two',
      JSON.stringify({ ...original, signatures: [bad, { ...original.signatures[0], keyid: 'x' }] }),
    );
    const { exitCode, stdout } = await bundle('--envelope', two, '--public-key', strangerKey, '--public-key', key);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
      verificationMaterial: { publicKey: { hint: job.key.key_id }, tlogEntries: [] },
      dsseEnvelope: { ...original, signatures: [{ keyid: '', sig: original.signatures[0]?.sig }] },
    });
  });

  test('writes a new file, and never overwrites one', async () => {
    const output = join(scratch.path, 'bundle.json');
    expect(await bundle('--envelope', envelope, '--public-key', key, '--output', output)).toMatchObject({
      exitCode: 0,
    });
    const text = readFileSync(output, 'utf8');
    expect(text).toBe((await bundle('--envelope', envelope, '--public-key', key)).stdout);
    expect((await bundle('--envelope', envelope, '--public-key', key, '--output', envelope)).exitCode).toBe(1);
    expect(new Uint8Array(readFileSync(envelope))).toEqual(job.attestation.envelope);
  });

  test.each([
    ['another key', [envelope, strangerKey]],
    ['a malformed key', [envelope, envelope]],
    ['a malformed envelope', [key, key]],
  ])('makes no bundle with %s', async (_what, [from, pinned]) => {
    expect(await bundle('--envelope', from as string, '--public-key', pinned as string)).toMatchObject({ exitCode: 2 });
  });
});
