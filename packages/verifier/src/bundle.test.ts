import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { TestLog, testNoteKey } from '../../../test/rig/test-log.ts';
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
  test('writes the signature that verifies, with the id of its key', async () => {
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
    expect(await bundle('--envelope', envelope, '--public-key', key, '--output', envelope)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(`${envelope} exists already; name another with --output`),
    });
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

describe('service-verify bundle --log-proof', () => {
  const log = new TestLog();
  for (let at = 1; at < 9; at++) log.append(new TextEncoder().encode(`statement ${at}`));
  const index = log.appendSigned(job.attestation.envelope, job.key.publicKeyPem);
  const logKey = scratch.write('log.key', log.key.text);
  let written = 0;
  const file = (content: string) => scratch.write(`proof-${++written}`, content);
  const signed = ['--envelope', envelope, '--public-key', key];
  const pinned = [...signed, '--log-key', logKey];

  test('adds the log entry in the form that Sigstore’s tools read', async () => {
    const { exitCode, stdout } = await bundle(...pinned, '--log-proof', file(log.proof(index)));
    expect(exitCode).toBe(0);
    const { verificationMaterial } = JSON.parse(stdout) as { verificationMaterial: { tlogEntries: unknown[] } };
    const hash = log.headText().split('\n')[2];
    expect(verificationMaterial.tlogEntries).toEqual([
      {
        logIndex: '9',
        logId: { keyId: Buffer.from(log.key.noteKey.key.key_id.slice('sha256:'.length), 'hex').toString('base64') },
        kindVersion: { kind: 'dsse', version: '0.0.1' },
        integratedTime: String(Date.parse(job.receipt.finished_at) / 1000),
        inclusionProof: {
          logIndex: '9',
          rootHash: hash,
          treeSize: '10',
          hashes: log.inclusion(index).map((each) => Buffer.from(each).toString('base64')),
          checkpoint: { envelope: log.rekorHead() },
        },
        canonicalizedBody: expect.any(String) as string,
      },
    ]);
  });

  test('makes no bundle from a log proof that fails, or that Sigstore’s tools would refuse', async () => {
    const first = new TestLog();
    const without = log.proof(index).replace(/^extra .*\n/m, '');
    const more = Buffer.from(`${log.rekorHead()}\u2014 witness.example ${Buffer.alloc(76, 7).toString('base64')}\n`);
    const lines = log.proof(index).replace(/^extra .*$/m, `extra ${more.toString('base64')}`);
    const refused: readonly [proof: string, problem: string][] = [
      ['no proof', 'log_entry: the proof is refused'],
      [log.proof(index - 1), 'log_inclusion: the statement is not where the proof says'],
      [first.proof(0), 'log_head: the key of log.example/log/1 did not sign it'],
      [without, 'log_entry: the proof lacks the head in Rekor’s form'],
      [lines, 'log_entry: its head in Rekor’s form must have exactly one signature line'],
    ];
    for (const [proof, problem] of refused) {
      const made = await bundle(...pinned, '--log-proof', file(proof));
      expect(made).toMatchObject({ exitCode: 6, stderr: expect.stringContaining(problem) as string });
      expect(made.stdout).not.toContain('mediaType');
    }
  });

  test('makes no bundle for leaf 0, because a common verifier takes the index 0 for a missing index', async () => {
    const alone = new TestLog();
    alone.restart();
    expect(alone.appendSigned(job.attestation.envelope, job.key.publicKeyPem)).toBe(0);
    const words = [...signed, '--log-key', scratch.write('alone.key', alone.key.text)];
    const made = await bundle(...words, '--log-proof', file(alone.proof(0)));
    expect(made).toMatchObject({ exitCode: 6, stderr: expect.stringContaining('leaf 0 is the opening') as string });
  });

  test('needs the key of the log as an option, because a proof does not contain the key', async () => {
    const proof = file(log.proof(index));
    const witness = scratch.write('witness.key', testNoteKey('witness.example', 'cosignature').text);
    for (const words of [
      ['--log-proof', proof],
      ['--log-key', logKey],
      ['--log-proof', proof, '--log-key', witness],
    ])
      expect(await bundle(...signed, ...words)).toMatchObject({ exitCode: 1 });
  });
});
