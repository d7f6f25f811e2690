/**
 * Sigstore's own JavaScript verifier, unmodified and with documented options, checks results that a service has logged.
 * `service-verify` makes the bundle and the trusted root from what the service serves.
 */
import { createPublicKey } from 'node:crypto';
import { bundleFromJSON } from '@sigstore/bundle';
import { TrustedRoot } from '@sigstore/protobuf-specs';
import { toSignedEntity, toTrustMaterial, Verifier } from '@sigstore/verify';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Scratch, signingKey } from '../../packages/verifier/test/attested-job.ts';
import { useRig } from '../rig/rig.ts';
import { TestLog, testSignature } from '../rig/test-log.ts';
import { keyOfLog, proofOf } from './served-log.ts';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());
const rig = useRig({ provider: 'subprocess', 'attestation-mode': 'on', 'log-host': 'log.example' });
let written = 0;
const file = (content: string | Uint8Array) => scratch.write(`file-${++written}`, content);

/** The members of a bundle that the tests read or change. */
interface Bundle {
  verificationMaterial: { tlogEntries: Entry[] };
  dsseEnvelope: { payload: string };
}
interface Entry {
  logIndex: string;
  integratedTime: string;
  canonicalizedBody: string;
  inclusionProof: { logIndex: string; hashes: string[]; rootHash: string; checkpoint: { envelope: string } };
}

let pinned = '';
let root: unknown;
const bundles: Bundle[] = [];

beforeAll(async () => {
  const { client } = rig().alpha;
  pinned = (await client.publicKey()).public_key_pem;
  const logKey = file(await keyOfLog(rig()));
  root = await made('trusted-root', '--log-key', logKey);
  for (const word of ['one', 'two', 'three']) {
    const { job_id } = await client.run({ language: 'bash', code: `echo ${word}` });
    const [proof, envelope] = [file(await proofOf(rig(), job_id)), file((await client.attestation(job_id)).bytes)];
    const words = ['--envelope', envelope, '--public-key', file(pinned), '--log-key', logKey, '--log-proof', proof];
    bundles.push((await made('bundle', ...words)) as Bundle);
  }
});

async function made(...words: readonly string[]): Promise<unknown> {
  const { exitCode, stdout, stderr } = await serviceVerify(words);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  return JSON.parse(stdout) as unknown;
}

/** Throws Sigstore's objection to a bundle. The bundle needs a log entry but no time stamp, because this log signs no time. */
function verify(bundle: unknown, { pem = pinned, trusted = root } = {}): void {
  const key = { publicKey: createPublicKey(pem), validFor: () => true };
  const material = toTrustMaterial(TrustedRoot.fromJSON(trusted), () => key);
  new Verifier(material, { timestampThreshold: 0 }).verify(toSignedEntity(bundleFromJSON(bundle)));
}

/** A copy of a bundle with one change. */
function spoilt(change: (entry: Entry, bundle: Bundle) => void): Bundle {
  const bundle = structuredClone(bundles[2] as Bundle);
  change(bundle.verificationMaterial.tlogEntries[0] as Entry, bundle);
  return bundle;
}

/** The same base64 with one bit changed in its middle. */
function flipped(base64: string): string {
  const bytes = Buffer.from(base64, 'base64');
  bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
  return bytes.toString('base64');
}

describe('@sigstore/verify', () => {
  test('accepts every logged result’s bundle with its log’s trusted root', () => {
    expect(bundles).toHaveLength(3);
    for (const bundle of bundles) expect(() => verify(bundle)).not.toThrow();
  });

  test.each<[what: string, change: Parameters<typeof spoilt>[0], problem: string]>([
    [
      'a proof with a changed hash',
      ({ inclusionProof: proof }) => proof.hashes.splice(0, 1, flipped(proof.hashes[0] as string)),
      'calculated root hash does not match',
    ],
    [
      'a proof of another place',
      ({ inclusionProof: proof }) => {
        proof.logIndex = String(Number(proof.logIndex) ^ 1);
      },
      'calculated root hash does not match',
    ],
    [
      'another payload',
      (_entry, { dsseEnvelope }) => {
        dsseEnvelope.payload = flipped(dsseEnvelope.payload);
      },
      'DSSE payload hash mismatch',
    ],
    [
      'another root, which the log did not sign',
      ({ inclusionProof: proof }) => {
        const lines = proof.checkpoint.envelope.split('\n');
        proof.rootHash = flipped(lines[2] as string);
        proof.checkpoint.envelope = lines.with(2, proof.rootHash).join('\n');
      },
      'invalid checkpoint signature',
    ],
    [
      'a head that a stranger signed',
      ({ inclusionProof: { checkpoint } }) => {
        const text = `${checkpoint.envelope.split('\n\n')[0]}\n`;
        const [, name, line] = checkpoint.envelope.trimEnd().split('\n').at(-1)?.split(' ') ?? [];
        const hint = new Uint8Array(Buffer.from(line as string, 'base64').subarray(0, 4));
        const { noteKey, ...stranger } = new TestLog().key;
        const forged = testSignature({ ...stranger, noteKey: { ...noteKey, name: name as string, hint } }, text);
        checkpoint.envelope = `${text}\n${forged}`;
      },
      'invalid checkpoint signature',
    ],
    [
      'the entry of another job, with its own good proof',
      (_entry, { verificationMaterial }) => {
        verificationMaterial.tlogEntries = (bundles[1] as Bundle).verificationMaterial.tlogEntries;
      },
      'tlog entry signature mismatch',
    ],
    [
      'another entry in its place',
      (entry) => {
        entry.canonicalizedBody = flipped(entry.canonicalizedBody);
      },
      'calculated root hash does not match',
    ],
    [
      'no entry',
      (_entry, { verificationMaterial }) => {
        verificationMaterial.tlogEntries = [];
      },
      'expected 1 tlog entries, got 0',
    ],
  ])('refuses %s', (_what, change, problem) => {
    expect(() => verify(spoilt(change))).toThrow(problem);
  });

  test('refuses a bundle with the trusted root of another log, or with the key of another signer', async () => {
    const trusted = await made('trusted-root', '--log-key', file(new TestLog().key.text));
    expect(() => verify(bundles[0], { trusted })).toThrow('invalid checkpoint signature');
    expect(() => verify(bundles[0], { pem: signingKey().publicKeyPem })).toThrow('signature verification failed');
  });

  test('counts no trusted time stamp in a bundle, because the log signs no time', () => {
    const [entry] = (bundles[0] as Bundle).verificationMaterial.tlogEntries;
    expect(Number(entry?.integratedTime)).toBeGreaterThan(0);
    const material = toTrustMaterial(TrustedRoot.fromJSON(root), () => ({
      publicKey: createPublicKey(pinned),
      validFor: () => true,
    }));
    const timed = new Verifier(material, { timestampThreshold: 1 });
    expect(() => timed.verify(toSignedEntity(bundleFromJSON(bundles[0])))).toThrow('expected 1 timestamps, got 0');
  });
});
