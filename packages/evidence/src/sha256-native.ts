/** SHA-256 in Node, computed by OpenSSL. `#sha256` in package.json chooses between this module and the portable one. */
import { createHash, hash } from 'node:crypto';
import type { RunningSha256 } from './sha256-portable.ts';

/** SHA-256 as 64 lower-case hex digits; a string is digested as its UTF-8. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}

/** SHA-256 of all pieces together, as its 32 bytes. */
export function sha256Bytes(...pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const [only] = pieces;
  return new Uint8Array(hash('sha256', pieces.length === 1 && only ? only : Buffer.concat(pieces), 'buffer'));
}

/** SHA-256 of bytes that come in pieces. */
export function runningSha256(): RunningSha256 {
  const running = createHash('sha256');
  return { update: (piece) => void running.update(piece), hex: () => running.digest('hex') };
}
