/**
 * `service-verify verify`: checks from files whether the holder of a pinned key signed this result of this tenant's job. Every
 * other command that trusts a signature makes this check. `policy` then also compares the signed receipt with requirements. Spec
 * § Authentication 10.
 */
import { envelopeBytesMax, resultArtifactBytesMax } from '@vouchbox/protocol/vocabulary';
import {
  type AttestationBytes,
  type AttestationVerdict,
  type Expectation,
  factsOf,
  NOTICE,
  publicKeyBytesMax,
  verifyAttestation,
} from './attestation.ts';
import { type Beside, nothingBeside } from './beside.ts';
import { type CanaryFile, canaryStanding } from './canary.ts';
import { EXIT } from './exit-code.ts';
import { type LogOptions, readLog, readLogProof, rememberHead } from './log-files.ts';
import { logStanding } from './log-standing.ts';
import { type Policy, type PolicyOptions, parsePolicy } from './policy.ts';
import { readBounded } from './read-file.ts';
import { exitCodeOf, type Report } from './report.ts';
import { UsageError } from './usage-error.ts';

/** The path of each pinned key, and the expected tenant. */
export interface TrustOptions {
  readonly publicKey: readonly string[];
  readonly tenant: string;
}

/** Paths of the files to verify. */
export interface AttestationFiles extends LogOptions, Pick<TrustOptions, 'publicKey'> {
  readonly envelope: string;
  readonly subject: string;
  /** The proof that the log has the envelope. */
  readonly logProof?: string;
  /** The envelope of the canary that the attestation names. */
  readonly canary?: string;
}

/** Verifies an attestation in files, and then checks that it meets the policy. */
export async function verifyPolicy(
  files: AttestationFiles,
  expected: Expectation,
  options: PolicyOptions,
): Promise<Report> {
  const policy = parsePolicy(options);
  if (policy === null) throw new UsageError('the policy is empty: give --require, --code-sha256 or --max-age');
  return await verify(files, expected, policy);
}

/** Verifies an attestation in files, and checks that it meets the policy, if there is one. */
export async function verify(
  files: AttestationFiles,
  expected: Expectation,
  policy: Policy | null = null,
): Promise<Report> {
  const { signed, checks, exitCode: verified, beside } = await verifyFiles(files, expected);
  const recorded = [...beside.log.checks, ...beside.canary.checks];
  const demanded = signed === null || policy === null ? [] : policy(signed.predicate, Date.now(), beside);
  const exitCode = verified || exitCodeOf(recorded, EXIT.record) || exitCodeOf(demanded, EXIT.policy);
  return {
    exitCode,
    checks: [...checks, ...recorded, ...demanded],
    facts: factsOf(signed, beside),
    notice: exitCode === EXIT.good ? NOTICE : null,
  };
}

/** The verdict on the attestation and, if it is good, what the log and the canary show. */
async function verifyFiles(
  files: AttestationFiles,
  expected: Expectation,
): Promise<AttestationVerdict & { readonly beside: Beside }> {
  const [attestation, proof, seen] = [readAttestation(files), readLogProof(files.logProof), readLog(files)];
  const verdict = await verifyAttestation(attestation, expected);
  if (verdict.signed === null) return { ...verdict, beside: nothingBeside };
  const log = await logStanding(verdict.signed.statement, proof, seen);
  rememberHead(files.logState, log.head);
  const canary = await canaryStanding(verdict.signed.predicate, readCanary(files.canary), attestation.publicKeys);
  return { ...verdict, beside: { log, canary } };
}

/** Reads the envelope of a canary. A file that cannot be read causes a `UsageError`. */
export function readCanary(path: string | undefined): CanaryFile | null {
  return path === undefined ? null : { bytes: readBounded(path, envelopeBytesMax) };
}

/** Reads the files of an attestation, each exactly once. */
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
