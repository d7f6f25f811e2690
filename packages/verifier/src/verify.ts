/**
 * `service-verify verify`: checks in files whether the holder of a pinned key signed this result, about this job of this
 * tenant. Every other command that trusts a signature uses this one, and `policy` then compares the signed receipt with
 * requirements. Spec § Authentication 10.
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
import { EXIT } from './exit-code.ts';
import { type PolicyOptions, parsePolicy } from './policy.ts';
import { readBounded } from './read-file.ts';
import { exitCodeOf, type Report } from './report.ts';
import { UsageError } from './usage-error.ts';

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

/** Verifies an attestation in files, and then checks that it meets the policy. */
export async function verifyPolicy(
  files: AttestationFiles,
  expected: Expectation,
  options: PolicyOptions,
): Promise<Report> {
  const policy = parsePolicy(options);
  if (policy === null) throw new UsageError('a policy demands something: --require, --code-sha256 or --max-age');
  const verdict = await verifyAttestation(readAttestation(files), expected);
  if (verdict.signed === null) return { ...verdict, facts: {}, notice: null };
  const demanded = policy(verdict.signed.predicate, Date.now());
  const exitCode = exitCodeOf(demanded, EXIT.policy);
  return {
    exitCode,
    checks: [...verdict.checks, ...demanded],
    facts: factsOf(verdict.signed),
    notice: exitCode === EXIT.good ? NOTICE : null,
  };
}

/** Reads every file, each exactly once. */
function readAttestation({ envelope, subject, publicKey }: AttestationFiles): AttestationBytes {
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
