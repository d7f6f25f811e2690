/**
 * `service-verify verify`: checks in files whether the holder of a pinned key signed this result, about this job of this
 * tenant. Every other command that trusts a signature uses this one. Spec § Authentication 10.
 */
import { envelopeBytesMax, resultArtifactBytesMax } from '@vouchbox/protocol/vocabulary';
import {
  type AttestationBytes,
  type Expectation,
  factsOf,
  NOTICE,
  publicKeyBytesMax,
  verifyAttestation,
} from './attestation.ts';
import { readBounded } from './read-file.ts';
import type { Report } from './report.ts';

/** Paths of the files to verify. */
export interface AttestationFiles {
  readonly envelope: string;
  readonly subject: string;
  readonly publicKey: readonly string[];
}

/** Verifies an attestation in files. */
export async function verify(files: AttestationFiles, expected: Expectation): Promise<Report> {
  const { exitCode, checks, signed } = await verifyAttestation(readAttestation(files), expected);
  return { exitCode, checks, facts: factsOf(signed), notice: signed === null ? null : NOTICE };
}

/** Reads every file, each exactly once. */
export function readAttestation({ envelope, subject, publicKey }: AttestationFiles): AttestationBytes {
  return {
    envelope: readBounded(envelope, envelopeBytesMax),
    subject: readBounded(subject, resultArtifactBytesMax),
    publicKeys: publicKey.map(readPublicKey),
  };
}

/** The text of a pinned key, for `parsePublicKey` to judge. A byte order mark stays, and makes the key malformed. */
export function readPublicKey(path: string): string | null {
  const bytes = readBounded(path, publicKeyBytesMax);
  return bytes === null ? null : new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
