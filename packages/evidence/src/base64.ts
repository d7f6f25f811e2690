/**
 * Base64 with exactly one spelling for any bytes: RFC 4648, padded, zero pad bits, no white space. The platform's own functions
 * are used if they exist. Node has them from version 25 on, but auditors have older versions.
 */
import { decodePortable, encodePortable } from './base64-portable.ts';

/**
 * The bytes of a canonical base64 text in the standard or the URL-safe alphabet: DSSE demands that both be read. Null for any
 * other text, such as a mixture of both alphabets.
 */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  const alphabet = /^[A-Za-z0-9+/]*={0,2}$/.test(text) ? 'base64' : 'base64url';
  if (alphabet === 'base64url' && !/^[A-Za-z0-9_-]*={0,2}$/.test(text)) return null;
  if (!('fromBase64' in Uint8Array)) return decodePortable(text);
  try {
    return Uint8Array.fromBase64(text, { alphabet, lastChunkHandling: 'strict' });
  } catch {
    return null;
  }
}

/** Base64 in the standard alphabet, padded. */
export function encodeBase64(bytes: Uint8Array): string {
  return 'toBase64' in bytes ? bytes.toBase64() : encodePortable(bytes);
}
