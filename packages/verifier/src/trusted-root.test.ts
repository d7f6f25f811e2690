import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { noteKey, noteKeyText } from '@vouchbox/evidence';
import { afterAll, describe, expect, test } from 'vitest';
import { testNoteKey } from '../../../test/rig/test-log.ts';
import { Scratch } from '../test/attested-job.ts';
import { serviceVerify } from './service-verify.ts';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());
const log = testNoteKey('log.example/log/1', 'note');
const logKey = scratch.write('log.key', `${log.text}\n`);

function root(...words: readonly string[]) {
  return serviceVerify(['trusted-root', ...words]);
}

interface Tlog {
  readonly baseUrl: string;
  readonly publicKey: { readonly rawBytes: string };
  readonly logId: { readonly keyId: string };
}

async function tlogs(...words: readonly string[]): Promise<Tlog[]> {
  const { exitCode, stdout } = await root(...words);
  expect(exitCode).toBe(0);
  return (JSON.parse(stdout) as { tlogs: Tlog[] }).tlogs;
}

describe('service-verify trusted-root', () => {
  test('writes one log with its host and its key, and no other authority', async () => {
    const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), log.noteKey.key.raw]);
    const { stdout, stderr } = await root('--log-key', logKey);
    expect(JSON.parse(stdout)).toEqual({
      mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
      tlogs: [
        {
          baseUrl: 'https://log.example',
          hashAlgorithm: 'SHA2_256',
          publicKey: {
            rawBytes: spki.toString('base64'),
            keyDetails: 'PKIX_ED25519',
            validFor: { start: '1970-01-01T00:00:00Z' },
          },
          logId: { keyId: Buffer.from(log.noteKey.key.key_id.slice('sha256:'.length), 'hex').toString('base64') },
        },
      ],
      certificateAuthorities: [],
      ctlogs: [],
      timestampAuthorities: [],
    });
    expect(stderr).toContain('log.example/log/1');
  });

  test('writes a log once for all of its trees, and may write several logs', async () => {
    const second = noteKey('log.example/log/2', 'note', log.noteKey.key.raw);
    if (second.kind === 'refused') throw new Error(second.reason);
    const next = scratch.write('next.key', noteKeyText(second.key));
    const other = scratch.write('other.key', testNoteKey('log.example/log/1', 'note').text);
    expect(await tlogs('--log-key', logKey, '--log-key', other)).toHaveLength(2);
    expect(await tlogs('--log-key', logKey, '--log-key', next)).toHaveLength(1);
  });

  test('writes a new file, and never overwrites one', async () => {
    const output = join(scratch.path, 'root.json');
    expect(await root('--log-key', logKey, '--output', output)).toMatchObject({ exitCode: 0 });
    expect(readFileSync(output, 'utf8')).toBe((await root('--log-key', logKey)).stdout);
    expect(await root('--log-key', logKey, '--output', logKey)).toMatchObject({ exitCode: 1 });
  });

  test.each([
    ['the key of a witness', testNoteKey('witness.example', 'cosignature').text, 'has the key of a witness'],
    ['the key of another kind of log', testNoteKey('sum.golang.org', 'note').text, 'no log HOST/log/TREE'],
    ['no key', 'nothing', 'has no key'],
  ])('is not made from %s', async (_what, text, problem) => {
    const made = await root('--log-key', scratch.write('wrong.key', text));
    expect(made).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining(problem) as string });
  });
});
