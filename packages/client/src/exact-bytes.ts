/**
 * Stored bytes as they were signed. They are checked against `X-Content-Sha256` and handed on as they came: decoding and
 * encoding JSON again would give other bytes under the same meaning. Spec § GET attestation and result-artifact.
 */
import { TransportFailure } from './failure.ts';
import type { Answer } from './transport.ts';

export interface ExactBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Lower-case hex; the digest of exactly these bytes, checked. */
  readonly sha256: string;
  readonly mediaType: string;
}

/** SHA-256 as lower-case hex. */
export type Sha256 = (bytes: Uint8Array<ArrayBuffer>) => Promise<string> | string;

/** The platform's SHA-256. Browsers offer it to pages served with TLS or from the local host only. */
export async function platformSha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Checks an answer's digest header against its bytes; a missing, malformed or other digest is refused. */
export async function checkExactBytes(answer: Answer, sha256: Sha256): Promise<ExactBytes> {
  const declared = answer.headers.get('x-content-sha256');
  if (declared === null) throw new TransportFailure('digest', 'X-Content-Sha256 is missing');
  if (!/^[0-9a-f]{64}$/.test(declared)) throw new TransportFailure('digest', 'X-Content-Sha256 is malformed');
  const actual = await sha256(answer.bytes);
  if (actual !== declared) throw new TransportFailure('digest', 'X-Content-Sha256 is of other bytes');
  return { bytes: answer.bytes, sha256: actual, mediaType: answer.headers.get('content-type') ?? '' };
}
