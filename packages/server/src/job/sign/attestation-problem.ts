/**
 * Whether a stored attestation is still the one that was signed for its job. This is checked before serving it: a client
 * must never get an attestation that was changed in the store, or that belongs to another job or tenant.
 */
import {
  decodeEnvelope,
  decodeStatement,
  findSignature,
  readPredicate,
  resultSubjectName,
  type Statement,
} from '@vouchbox/evidence';
import type { StoredAttestation } from '../../store/records/answers.ts';
import type { AttestationRow, JobKey } from '../../store/records/rows.ts';
import type { SigningKeys } from './keys/signing-keys.ts';

/** The fault in an attestation that is stored for a job; null if the attestation may be served. */
export async function attestationProblem(
  { row, envelope, isIntact }: StoredAttestation,
  key: JobKey,
  keys: Pick<SigningKeys, 'publicKey'>,
): Promise<string | null> {
  if (!isIntact) return 'the stored attestation does not have its digests';
  const publicKey = keys.publicKey(row.key_id);
  if (publicKey === null) return 'the stored attestation names a key that this service never had';
  const decoded = decodeEnvelope(envelope);
  if (decoded.kind === 'refused') return 'the stored envelope is malformed';
  if ((await findSignature(decoded.envelope, [publicKey])) === null) return 'the stored signature does not hold';
  const statement = decodeStatement(decoded.envelope.payload);
  if (statement.kind === 'refused') return 'the stored statement is malformed';
  return brokenLink(statement.statement, row, key);
}

/** Whether an envelope's signatures name only unknown keys. False for a text that is not an envelope. */
export function isSignedByStrangers(envelope: Uint8Array, keys: Pick<SigningKeys, 'publicKey'>): boolean {
  const decoded = decodeEnvelope(envelope);
  if (decoded.kind === 'refused') return false;
  return decoded.envelope.signatures.every(({ keyid }) => keys.publicKey(keyid) === null);
}

/** The first of tenant, job, receipt and result that differs between the statement and its row and job. Spec § Versioning 6. */
function brokenLink({ subject, predicate }: Statement, row: AttestationRow, { tenant, job_id }: JobKey): string | null {
  const read = readPredicate(predicate);
  if (read.kind === 'refused') return 'the stored predicate is malformed';
  const links: Readonly<Record<string, boolean>> = {
    tenant: read.predicate.tenant === tenant && row.tenant === tenant,
    job: read.predicate.jobId === job_id && subject[0]?.name === resultSubjectName(job_id),
    receipt: read.predicate.receiptSha256 === row.receipt_sha256,
    result:
      read.predicate.resultSizeBytes === row.result_size_bytes && subject[0]?.digest['sha256'] === row.result_sha256,
  };
  const broken = Object.keys(links).find((name) => !links[name]);
  return broken === undefined ? null : `the stored attestation is of another ${broken}`;
}
