/**
 * Stored bytes, exactly as they were signed. They are compared with `X-Content-Sha256` and passed on unchanged, because
 * decoding JSON and encoding it again could change the bytes. Spec § GET attestation and result-artifact.
 */
import type { Sha256 } from './digest.ts';
import { TransportFailure } from './failure.ts';
import type { Answer } from './transport.ts';

export interface ExactBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Lower-case hex: the checked digest of exactly these bytes. */
  readonly sha256: string;
  readonly mediaType: string;
}

/** Compares an answer's digest header with its bytes. A missing, malformed or different digest is refused. */
export async function checkExactBytes({ bytes, headers }: Answer, sha256: Sha256): Promise<ExactBytes> {
  const declared = headers.get('x-content-sha256') ?? '';
  if (!/^[0-9a-f]{64}$/.test(declared)) {
    throw new TransportFailure('digest', 'X-Content-Sha256 is missing or malformed');
  }
  if ((await sha256(bytes)) !== declared)
    throw new TransportFailure('digest', 'X-Content-Sha256 does not match the bytes');
  return { bytes, sha256: declared, mediaType: headers.get('content-type') ?? '' };
}
