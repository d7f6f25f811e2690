/**
 * SHA-256 for a browser page, where there is no Node. It comes from @noble/hashes, which only this file imports. WebCrypto is no
 * substitute: it is asynchronous, takes no bytes in pieces, and is missing from pages served without TLS.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

/** SHA-256 of bytes that come in pieces. No piece has to be kept. */
export interface RunningSha256 {
  update(piece: Uint8Array): void;
  /** The digest of all pieces as 64 lower-case hex digits. No piece may follow. */
  hex(): string;
}

/** SHA-256 as 64 lower-case hex digits; a string is digested as its UTF-8. */
export function sha256Hex(data: string | Uint8Array): string {
  return bytesToHex(sha256(typeof data === 'string' ? utf8ToBytes(data) : data));
}

/** SHA-256 of all pieces together, as its 32 bytes. */
export function sha256Bytes(...pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const running = sha256.create();
  for (const piece of pieces) running.update(piece);
  return new Uint8Array(running.digest());
}

/** SHA-256 of bytes that come in pieces. */
export function runningSha256(): RunningSha256 {
  const running = sha256.create();
  return { update: (piece) => void running.update(piece), hex: () => bytesToHex(running.digest()) };
}
