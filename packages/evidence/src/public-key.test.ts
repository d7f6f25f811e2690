import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { hasPublishedVectors, publishedBytes } from '../test/vectors.ts';
import { publicPointProblem } from './edwards25519.ts';
import { type PinnedKey, parsePublicKey, verifySignature } from './public-key.ts';

const bytesOf = (hex: string) => Uint8Array.fromHex(hex);

/** The canonical PEM of the key with these 32 raw bytes (RFC 8410 § 4). */
function publicKeyPem(raw: Uint8Array): string {
  const spki = Buffer.concat([bytesOf('302a300506032b6570032100'), raw]);
  return `-----BEGIN PUBLIC KEY-----\n${spki.toString('base64')}\n-----END PUBLIC KEY-----\n`;
}

function keyOf(raw: Uint8Array): PinnedKey {
  const result = parsePublicKey(publicKeyPem(raw));
  if (result.kind === 'refused') throw new Error(result.reason);
  return result.key;
}

describe('a pinned key', () => {
  test('can be read from the PEM that OpenSSL writes, and verifies OpenSSL’s signatures', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const result = parsePublicKey(publicKey.export({ type: 'spki', format: 'pem' }) as string);
    if (result.kind === 'refused') throw new Error(result.reason);
    const message = new Uint8Array([1, 2, 3]);
    const signature = new Uint8Array(sign(null, message, privateKey));
    expect(await verifySignature(result.key, message, signature)).toBe(true);
    expect(await verifySignature(result.key, new Uint8Array([1, 2, 4]), signature)).toBe(false);
  });

  test('has as its key id the SHA-256 of its SPKI DER', { tags: ['Attestation-4'] }, () => {
    const raw = bytesOf('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a');
    expect(keyOf(raw).key_id).toBe('sha256:06e3fd8fda29bb60ab59557de61edb0aecdb231134be30e75b455f8e1b792fa9');
  });

  test('may have CRLF line ends, or no final line end', () => {
    const pem = publicKeyPem(bytesOf('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'));
    expect(parsePublicKey(pem.replaceAll('\n', '\r\n'))).toMatchObject({ kind: 'key' });
    expect(parsePublicKey(pem.trimEnd())).toMatchObject({ kind: 'key' });
  });

  test.each([
    ['the identity', `01${'00'.repeat(31)}`, /small order/],
    ['the point of order 2', `ec${'ff'.repeat(30)}7f`, /small order/],
    ['a point of order 4', '00'.repeat(32), /small order/],
    ['the other point of order 4', `${'00'.repeat(31)}80`, /small order/],
    ['a point of order 8', 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a', /small order/],
    ['the negative of that point', 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa', /small order/],
    ['another point of order 8', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05', /small order/],
    ['the negative of that point', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85', /small order/],
    ['y = p', `ed${'ff'.repeat(30)}7f`, /not canonically/],
    ['y = p + 1', `ee${'ff'.repeat(30)}7f`, /not canonically/],
    ['y = 2^255 - 1', 'ff'.repeat(32), /not canonically/],
    ['x = 0 with a sign', `01${'00'.repeat(30)}80`, /not on the curve/],
    ['a y without x', `02${'00'.repeat(31)}`, /not on the curve/],
  ])('is refused when it is %s', { tags: ['ATT-03'] }, (_name, hex, reason) => {
    expect(publicPointProblem(bytesOf(hex))).toMatch(reason);
    expect(parsePublicKey(publicKeyPem(bytesOf(hex)))).toMatchObject({ kind: 'refused' });
  });

  test('the public key of a new pair is never refused', () => {
    for (let round = 0; round < 20; round++) {
      const { publicKey } = generateKeyPairSync('ed25519');
      const spki = publicKey.export({ type: 'spki', format: 'der' });
      expect(publicPointProblem(spki.subarray(12))).toBeNull();
    }
  });
});

describe.skipIf(!hasPublishedVectors('wycheproof'))('the Wycheproof Ed25519 vectors', () => {
  interface Group {
    publicKey: { pk: string };
    tests: { tcId: number; comment: string; msg: string; sig: string; result: string }[];
  }

  test('all 151 give the expected result (ATT-02)', async () => {
    const text = new TextDecoder().decode(publishedBytes('wycheproof/ed25519_test.json'));
    const { testGroups } = JSON.parse(text) as { testGroups: Group[] };
    const wrong: string[] = [];
    let count = 0;
    for (const { publicKey, tests } of testGroups) {
      const key = keyOf(bytesOf(publicKey.pk));
      for (const { tcId, comment, msg, sig, result } of tests) {
        count++;
        const isRight = await verifySignature(key, bytesOf(msg), bytesOf(sig));
        if (isRight !== (result === 'valid')) wrong.push(`${tcId} ${comment}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(count).toBe(151);
  });
});
