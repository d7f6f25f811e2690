/**
 * Stored bytes, as they were signed. They are compared with `X-Content-Sha256` and passed on unchanged: decoding and
 * encoding JSON again would give other bytes with the same meaning. Spec § GET attestation and result-artifact.
 */
import { TransportFailure } from './failure.ts';
import type { Answer } from './transport.ts';

export interface ExactBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Lower-case hex: the checked digest of exactly these bytes. */
  readonly sha256: string;
  readonly mediaType: string;
}

/** SHA-256 as lower-case hex. */
export type Sha256 = (bytes: Uint8Array<ArrayBuffer>) => Promise<string> | string;

/** The platform's SHA-256. Browsers have it only for pages served with TLS or from the local host. */
export async function platformSha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Compares an answer's digest header with its bytes. A missing, malformed or different digest is refused. */
export async function checkExactBytes(answer: Answer, sha256: Sha256): Promise<ExactBytes> {
  const declared = answer.headers.get('x-content-sha256');
  if (declared === null) throw new TransportFailure('digest', 'X-Content-Sha256 is missing');
  if (!/^[0-9a-f]{64}$/.test(declared)) throw new TransportFailure('digest', 'X-Content-Sha256 is malformed');
  const actual = await sha256(answer.bytes);
  if (actual !== declared) throw new TransportFailure('digest', 'X-Content-Sha256 is of other bytes');
  return { bytes: answer.bytes, sha256: actual, mediaType: answer.headers.get('content-type') ?? '' };
}
