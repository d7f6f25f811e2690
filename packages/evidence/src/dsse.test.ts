import { describe, expect, test } from 'vitest';
import { hasPublishedVectors, publishedCases } from '../test/vectors.ts';
import { decodeEnvelope, encodeEnvelope, preAuthEncoding } from './dsse.ts';
import { sha256Hex } from './sha256-native.ts';

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

describe('the pre-authentication encoding (DSSE protocol)', () => {
  test('counts bytes of UTF-8, not characters (ATT-04)', { tags: ['ATT-04'] }, () => {
    expect(decode(preAuthEncoding('a/é', encode('ಠ')))).toBe('DSSEv1 4 a/é 3 ಠ');
    expect(decode(preAuthEncoding('', new Uint8Array()))).toBe('DSSEv1 0  0 ');
  });

  test('keeps a payload unchanged, whatever bytes it has', () => {
    const payload = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    expect(preAuthEncoding('a', payload).subarray(-256)).toEqual(payload);
  });
});

describe('an envelope', () => {
  const envelope = {
    payloadType: 'application/vnd.in-toto+json',
    payload: encode('{}'),
    signatures: [{ keyid: 'k', sig: new Uint8Array(64).fill(7) }],
  };

  test('is written canonically and read back unchanged', () => {
    const bytes = encodeEnvelope(envelope);
    expect(decode(bytes)).toMatch(
      /^\{"payload":"e30=","payloadType":"application\/vnd\.in-toto\+json","signatures":\[\{"keyid":"k","sig":"BwcH/,
    );
    expect(decodeEnvelope(bytes)).toEqual({ kind: 'envelope', envelope });
  });

  test.each([15, 16, 17])('may have up to 16 signatures: %i', (count) => {
    const bytes = encodeEnvelope({ ...envelope, signatures: new Array(count).fill(envelope.signatures[0]) as never });
    expect(decodeEnvelope(bytes).kind).toBe(count <= 16 ? 'envelope' : 'refused');
  });

  test.each([null, 1, [], { keyid: 1, sig: 'AA==' }, { sig: '' }, { sig: 'A' }])(
    'is refused with the signature %j',
    (sig) => {
      const { payloadType } = envelope;
      const bytes = encode(JSON.stringify({ payload: 'e30=', payloadType, signatures: [sig] }));
      expect(decodeEnvelope(bytes)).toMatchObject({ kind: 'refused' });
    },
  );

  test('an envelope that is not JSON is refused with the position of the error', () => {
    expect(decodeEnvelope(encode('{"payload"}'))).toEqual({ kind: 'refused', reason: 'it is not JSON at byte 10' });
  });
});

describe.skipIf(!hasPublishedVectors('dsse'))('the published PAE vectors', () => {
  const cases = publishedCases<{ name: string; payloadType: string; payload_b64: string; pae_sha256: string }>(
    'dsse/pae.json',
  );

  test('are complete: there are twelve', () => {
    expect(cases).toHaveLength(12);
  });

  test.each(cases.map((row) => [row.name, row] as const))(
    'are encoded as published: %s',
    (_name, { payloadType, payload_b64, pae_sha256 }) => {
      expect(sha256Hex(preAuthEncoding(payloadType, Uint8Array.fromBase64(payload_b64)))).toBe(pae_sha256);
    },
  );
});
