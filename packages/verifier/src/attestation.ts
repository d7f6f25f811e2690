/**
 * Checks whether the holder of a pinned key signed this result of this tenant's job. The check works on bytes that were already
 * read, and uses nothing that only Node has. Spec § Authentication 10.
 */
import {
  canonicalJson,
  decodeEnvelope,
  decodeStatement,
  type EnvelopeVerificationInput,
  type ExecutionPredicate,
  resultSubjectName,
  type SignedStatement,
  verifyEnvelope,
} from '@vouchbox/evidence';
import { envelopeBytesMax, resultArtifactBytesMax, sizeText } from '@vouchbox/protocol/vocabulary';
import type { Beside } from './beside.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { type Check, type Facts, failed, passed } from './report.ts';

/** The largest public key file that is read, in bytes: far above the 113 bytes of an Ed25519 key, and still cheap to refuse. */
export const publicKeyBytesMax = 64 * 1024;

/** The facts that the caller knows from elsewhere. */
export interface Expectation {
  readonly tenant: string;
  /** The expected name of the subject; if left out, the signed statement decides which job it is about. */
  readonly subjectName?: string;
  readonly mediaType: string;
}

/** The bytes of the files. Each file is read once. A file that is larger than the contract allows is null. */
export interface AttestationBytes {
  readonly envelope: Uint8Array<ArrayBuffer> | null;
  readonly subject: Uint8Array<ArrayBuffer> | null;
  /** PEM texts of the pinned keys; null for a key that was too large to read. */
  readonly publicKeys: readonly (string | null)[];
}

export interface AttestationVerdict {
  readonly exitCode: ExitCode;
  readonly checks: readonly Check[];
  /** The signed statement and its key; null if the attestation was refused. */
  readonly signed: Signed | null;
}

export interface Signed {
  readonly predicate: ExecutionPredicate;
  readonly key_id: string;
  /** The envelope, and the signature in it that a log covers. */
  readonly statement: SignedStatement;
}

/** The meaning of a good verdict, and its limits. Spec § Authentication 10. */
export const NOTICE =
  'This shows that a holder of the pinned key signed this result as it is here. It does not show that the program ' +
  'succeeded (read its status), that the hardware is trustworthy, that the program would do the same again, or that ' +
  'what it says is true.';

/** Verifies an attestation whose bytes were read. Stops at the first check that fails. */
export async function verifyAttestation(
  { envelope, subject, publicKeys }: AttestationBytes,
  expected: Expectation,
): Promise<AttestationVerdict> {
  if (publicKeys.includes(null)) return tooLarge('key', publicKeyBytesMax, EXIT.signature);
  if (envelope === null) return tooLarge('envelope', envelopeBytesMax, EXIT.signature);
  if (subject === null) return tooLarge('subject_digest', resultArtifactBytesMax, EXIT.subject);
  const subjectName = expected.subjectName ?? statedSubjectName(envelope);
  const input: EnvelopeVerificationInput = {
    envelope,
    subject,
    publicKeys: publicKeys as readonly string[],
    expected: { ...expected, subjectName },
  };
  const result = await verifyEnvelope(input);
  const checks = result.passed.map(({ step, detail }) => passed(step, detail));
  return result.kind === 'verified'
    ? { exitCode: EXIT.good, checks, signed: result }
    : { exitCode: EXIT[result.failure], checks: [...checks, failed(result.step, result.reason)], signed: null };
}

/** What the signed statement, the log and the canary say about the job, for a reader. Empty if the statement was refused. */
export function factsOf(signed: Signed | null, { log, canary }: Beside): Facts {
  if (signed === null) return {};
  const { predicate, key_id } = signed;
  return {
    job_id: predicate.jobId,
    tenant: predicate.tenant,
    status: predicate.status,
    exit_code: predicate.exitCode,
    finished_at: predicate.finishedAt,
    isolation_class: predicate.isolationClass,
    networking: predicate.networking,
    receipt_sha256: predicate.receiptSha256,
    key_id,
    log: log.word,
    canary: canary.word,
    ...addedFacts(predicate),
  };
}

/** The members that only few predicates have, as the statement gives them, and the receipt's labels if it has any. */
export function addedFacts({ salt, tenantJobNumber, also = {}, receipt: { labels } }: ExecutionPredicate): Facts {
  const unknown = Object.entries(also).map(([name, value]): [string, string] => [`also.${name}`, canonicalJson(value)]);
  return {
    ...(salt !== undefined && { salt }),
    ...(tenantJobNumber !== undefined && { tenant_job_number: tenantJobNumber }),
    ...(labels !== undefined && { labels: canonicalJson(labels) }),
    ...Object.fromEntries(unknown),
  };
}

/**
 * The subject name that a statement of the service's profile must have, read before anything is verified. The verification that
 * follows compares the statement with this name. If the name cannot be read here, that verification gives the reason.
 */
function statedSubjectName(envelope: Uint8Array): string {
  return resultSubjectName(statedText(envelope, 'jobId'));
}

/** A text in an envelope that nothing has verified yet; empty if the text cannot be read. */
export function statedText(envelope: Uint8Array, member: 'jobId' | 'tenant'): string {
  const stated = statedPredicate(envelope)?.[member];
  return typeof stated === 'string' ? stated : '';
}

/** The predicate in an envelope that nothing has verified yet; null if the predicate cannot be read. */
export function statedPredicate(envelope: Uint8Array): Readonly<Record<string, unknown>> | null {
  const decoded = decodeEnvelope(envelope);
  const statement = decoded.kind === 'refused' ? null : decodeStatement(decoded.envelope.payload);
  return statement?.kind === 'statement' ? statement.statement.predicate : null;
}

function tooLarge(name: string, bytesMax: number, exitCode: ExitCode): AttestationVerdict {
  return { exitCode, checks: [failed(name, `the file is larger than ${sizeText(bytesMax)}`)], signed: null };
}
