/** SHA-256 in Node: OpenSSL's, in one call. `#sha256` in package.json chooses between this and the portable one. */
import { hash } from 'node:crypto';

/** SHA-256 as 64 lower-case hex digits; a string is digested as its UTF-8. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}
