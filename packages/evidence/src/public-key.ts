/**
 * Ed25519 public keys in the form in which they are pinned: one PEM block with canonical SubjectPublicKeyInfo (RFC 8410).
 * Variants that only a lenient reader would accept are refused.
 */
import { sha256Hex } from '#sha256';
import { decodeBase64, encodeBase64 } from './base64.ts';
import { publicPointProblem } from './edwards25519.ts';
import { type Refused, refused } from './strict-json.ts';

/** The DER before the key's 32 bytes: SEQUENCE { SEQUENCE { OID 1.3.101.112 }, BIT STRING }. RFC 8410 § 4. */
const SPKI_PREFIX = Uint8Array.of(0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00);
const RAW_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

const PEM = /^-----BEGIN PUBLIC KEY-----\r?\n([A-Za-z0-9+/=\r\n]*?)\r?\n-----END PUBLIC KEY-----(?:\r?\n)?$/;

/** A checked public key: canonical, on the curve, not of small order. */
export interface PinnedKey {
  /** `sha256:` and the SHA-256 of the SPKI DER. */
  readonly key_id: string;
  readonly raw: Uint8Array<ArrayBuffer>;
}

export type PinnedKeyResult = { readonly kind: 'key'; readonly key: PinnedKey } | Refused;

/** Reads one pinned key. A private key, a second block or trailing bytes are refused, not skipped. */
export function parsePublicKey(pem: string): PinnedKeyResult {
  const body = PEM.exec(pem)?.[1];
  if (body === undefined) return refused('it is not exactly one PEM block of a PUBLIC KEY');
  const spki = decodeBase64(body.replaceAll(/\r?\n/g, ''));
  if (spki === null) return refused('its base64 is not canonical');
  if (spki.length !== SPKI_PREFIX.length + RAW_KEY_BYTES || !SPKI_PREFIX.every((byte, at) => spki[at] === byte)) {
    return refused('it is not the canonical SPKI of an Ed25519 key');
  }
  return pinnedKeyOf(spki.slice(SPKI_PREFIX.length));
}

/** Checks that the 32 bytes of a point are a usable public key. */
export function pinnedKeyOf(raw: Uint8Array<ArrayBuffer>): PinnedKeyResult {
  if (raw.length !== RAW_KEY_BYTES) return refused(`it has ${raw.length} bytes, not ${RAW_KEY_BYTES}`);
  const problem = publicPointProblem(raw);
  return problem === null ? { kind: 'key', key: { key_id: keyIdOf(spkiOf(raw)), raw } } : refused(problem);
}

/** The canonical SubjectPublicKeyInfo of a key, as DER. */
export function spkiOf(raw: Uint8Array): Uint8Array<ArrayBuffer> {
  const spki = new Uint8Array(SPKI_PREFIX.length + raw.length);
  spki.set(SPKI_PREFIX);
  spki.set(raw, SPKI_PREFIX.length);
  return spki;
}

/** The canonical SubjectPublicKeyInfo of a key, as one PEM block that ends with a newline. */
export function pemOf(raw: Uint8Array): string {
  return `-----BEGIN PUBLIC KEY-----\n${encodeBase64(spkiOf(raw))}\n-----END PUBLIC KEY-----\n`;
}

/** The key id of the key with this SPKI DER. */
export function keyIdOf(spki: Uint8Array): string {
  return `sha256:${sha256Hex(spki)}`;
}

/** Whether a pure Ed25519 signature is valid. RFC 8032 § 5.1.7. Needs WebCrypto, which a page has only over TLS. */
export async function verifySignature(
  key: PinnedKey,
  message: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  if (signature.length !== SIGNATURE_BYTES) return false;
  const imported = await crypto.subtle.importKey('raw', key.raw, 'Ed25519', false, ['verify']);
  return crypto.subtle.verify('Ed25519', imported, signature, message);
}
