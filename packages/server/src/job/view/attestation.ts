/**
 * The exact bytes of a job's signed evidence, for the job's owner, even if signing is off now. Bytes that differ from
 * the signed bytes are never served. They are withdrawn and signed again. If signing is off, or no node of a fleet
 * knows the key that signed them, they are left alone. Spec § GET attestation and result-artifact.
 */
import { isTerminal } from '@vouchbox/protocol';
import { ServiceError } from '../../ground/service-error.ts';
import { ObjectError } from '../../objects/object-store.ts';
import type { StoredAttestation } from '../../store/records/answers.ts';
import type { AttestationPart } from '../../store/records/inputs.ts';
import type { JobKey } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { Nudges } from '../nudges.ts';
import type { ObjectContents } from '../object-contents.ts';
import { jobNotFound } from '../refusals.ts';
import { attestationProblem, isSignedByStrangers } from '../sign/attestation-problem.ts';
import type { SigningKeys } from '../sign/keys/signing-keys.ts';

/** Stored bytes, unchanged, and their SHA-256 as 64 lower-case hex digits. */
export interface ExactBytes {
  readonly bytes: Uint8Array;
  readonly sha256: string;
}

export interface AttestationOptions {
  readonly store: Pick<Store, 'attestation' | 'jobSummary' | 'withdrawAttestation' | 'resultOf'>;
  readonly objects: Pick<ObjectContents, 'read'>;
  readonly keys: Pick<SigningKeys, 'publicKey'> & {
    /** Learns a key that another node signed with. Absent if there are no other nodes. */
    learn?(key_id: string): Promise<void>;
  };
  /** False if the operator has turned signing off. */
  readonly isSigning: boolean;
  readonly nudges: Pick<Nudges, 'send'>;
  readonly log: Log;
}

/** After how many seconds to ask again for an attestation. Signing takes only milliseconds. */
const retryAfterSeconds = 1;

/**
 * The exact stored bytes of one part of a job's attestation.
 *
 * @throws ServiceError `attestation_disabled`, `signing_key_unknown`, `job_not_found`, `job_not_terminal`,
 * `attestation_unavailable`.
 */
export async function attestationBytes(
  key: JobKey,
  part: AttestationPart,
  options: AttestationOptions,
): Promise<ExactBytes> {
  const { store, keys, log, isSigning } = options;
  const stored = await store.attestation({ key, part });
  if (stored === null) throw unattested(await store.jobSummary(key), isSigning);
  await keys.learn?.(stored.row.key_id);
  const result = await resultBytes(stored, options);
  const problem = result.problem ?? (await attestationProblem(stored, key, keys));
  if (problem !== null && !isSigning) {
    log.error({ job_id: key.job_id }, `an attestation is not served: ${problem}`);
    throw isOfUnknownKey(stored, keys) ? unknownKey() : disabled();
  }
  if (problem !== null && isMadeElsewhere(stored, keys)) {
    log.error({ job_id: key.job_id, key_id: stored.row.key_id }, `an attestation is kept and not served: ${problem}`);
    throw unknownKey();
  }
  if (problem !== null) {
    await withdraw(key, problem, options);
    throw signedAgain();
  }
  const { envelope, row } = stored;
  return part === 'envelope'
    ? { bytes: envelope, sha256: row.envelope_sha256 }
    : { bytes: result.bytes ?? envelope.subarray(0, 0), sha256: row.result_sha256 };
}

/**
 * Whether an attestation is intact although no node has registered its key. The service may have signed it before there were
 * several nodes, so it is not replaced.
 */
function isMadeElsewhere(stored: StoredAttestation, keys: AttestationOptions['keys']): boolean {
  return keys.learn !== undefined && isOfUnknownKey(stored, keys);
}

function isOfUnknownKey({ isIntact, envelope }: StoredAttestation, keys: AttestationOptions['keys']): boolean {
  return isIntact && isSignedByStrangers(envelope, keys);
}

/**
 * The result from its row or its object, or the fault in the result. If the object is missing or damaged, nothing is lost: the
 * result is made again from the job's history.
 *
 * @throws ObjectError if the object store cannot be asked
 */
async function resultBytes(
  { object, result_artifact, row }: StoredAttestation,
  { store, objects }: AttestationOptions,
): Promise<{ readonly bytes: Uint8Array | null; readonly problem: string | null }> {
  if (object === null) return { bytes: result_artifact, problem: null };
  try {
    const bytes = await store.resultOf({ stored: await objects.read(object), row });
    return { bytes, problem: bytes === null ? 'the stored result does not have its digest' : null };
  } catch (error) {
    if (!(error instanceof ObjectError) || (error.code !== 'missing' && error.code !== 'damaged')) throw error;
    return { bytes: null, problem: error.message };
  }
}

async function withdraw(key: JobKey, problem: string, { store, nudges, log }: AttestationOptions): Promise<void> {
  log.error({ job_id: key.job_id }, `an attestation is withdrawn: ${problem}`);
  await store.withdrawAttestation({ ...key, error: problem, at: new Date().toISOString() });
  nudges.send('outbox');
}

function unattested(job: Awaited<ReturnType<Store['jobSummary']>>, isSigning: boolean): ServiceError {
  if (job === null) return jobNotFound();
  if (!isSigning) return disabled();
  if (isTerminal(job.status)) return unavailable();
  return new ServiceError('job_not_terminal', 'The job has not ended yet.', { retryAfterSeconds });
}

function disabled(): ServiceError {
  return new ServiceError('attestation_disabled', 'The operator has turned signing off.');
}

/** The refusal if the key is unknown. Waiting does not help, because the operator must bring back the key. */
function unknownKey(): ServiceError {
  const message =
    'The job was signed with a key that the service does not have: the operator must start the service with the attestation-keys directory that has the key.';
  return new ServiceError('signing_key_unknown', message);
}

function signedAgain(): ServiceError {
  const message = 'The stored signature of the job does not hold, so the job is signed again.';
  return new ServiceError('attestation_unavailable', message, { retryAfterSeconds });
}

function unavailable(): ServiceError {
  return new ServiceError('attestation_unavailable', 'The job has ended and is not signed yet.', { retryAfterSeconds });
}
