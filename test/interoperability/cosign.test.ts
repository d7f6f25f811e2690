/** If cosign (Sigstore's command in Go) is installed, it checks a bundle that service-verify made. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, describe, expect, test } from 'vitest';
import { attestedJob, Scratch, signingKey } from '../../packages/verifier/test/attested-job.ts';
import { TestLog } from '../rig/test-log.ts';
import { run } from './run.ts';

const isInstalled = (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, 'cosign')));
const untried = isInstalled ? '' : ' (not tried: cosign is not installed)';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());
const key = signingKey();
const job = attestedJob({ key });
const pinned = scratch.write('key.pem', key.publicKeyPem);
const artifact = scratch.write('result.json', job.attestation.result);
/** An empty trusted root. Without one, cosign would fetch Sigstore's root, although no log is needed. */
const root = scratch.write('root.json', '{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}');

async function bundle(...more: readonly string[]): Promise<string> {
  const envelope = scratch.write('envelope.json', job.attestation.envelope);
  const { stdout } = await serviceVerify(['bundle', '--envelope', envelope, '--public-key', pinned, ...more]);
  return stdout;
}

function verified(text: string, { by = pinned, of = artifact } = {}) {
  const file = scratch.write('bundle.json', text);
  return run('cosign', [
    ...['verify-blob-attestation', '--insecure-ignore-tlog', '--new-bundle-format', '--bundle', file],
    ...['--trusted-root', root, '--key', by, '--type', 'urn:svc:predicate:execution-result:v1', of],
  ]);
}

describe.skipIf(!isInstalled)(`cosign${untried}`, () => {
  test('accepts a bundle signed with the pinned key', async () => {
    expect(await verified(await bundle())).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('Verified OK'),
    });
  });

  test('accepts a bundle that contains a log entry', async () => {
    const log = new TestLog();
    const index = log.appendSigned(job.attestation.envelope, key.publicKeyPem);
    const [logKey, proof] = [scratch.write('log.key', log.key.text), scratch.write('proof', log.proof(index))];
    const text = await bundle('--log-key', logKey, '--log-proof', proof);
    expect(text).toContain('integratedTime');
    expect(await verified(text)).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('Verified OK') });
  });

  test('refuses a bundle for another key, another result, or another payload', async () => {
    const text = await bundle();
    const other = { by: scratch.write('other.pem', signingKey().publicKeyPem) };
    const spoilt = JSON.parse(text) as { dsseEnvelope: { payload: string } };
    spoilt.dsseEnvelope.payload = Buffer.from('{}').toString('base64');
    const endings = [
      await verified(text, other),
      await verified(text, { of: scratch.write('other.json', '{}') }),
      await verified(JSON.stringify(spoilt)),
    ];
    expect(endings.map(({ exitCode }) => exitCode === 0)).toEqual([false, false, false]);
  });
});
