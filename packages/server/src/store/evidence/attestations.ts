/**
 * Evidence that waits for its signature, and signed evidence. Every terminal job is either in the outbox or attested. Bytes are
 * stored once and served as stored. Spec § States and transitions 3.
 */
import assert from 'node:assert';
import { sha256Hex } from '@vouchbox/evidence';
import { sql } from 'kysely';
import { deleteBy, hasKey, insertOf, JOB, same, selectBy, updateBy } from '../by-column.ts';
import { expanded, isCompressed } from '../history/compressed.ts';
import { resultPosition } from '../objects/content-places.ts';
import { objectOf, releaseResult } from '../objects/objects.ts';
import { prepared } from '../prepared.ts';
import type { StoredAttestation } from '../records/answers.ts';
import type { AttestationInput, AttestationPart } from '../records/inputs.ts';
import type { AttestationRow, JobKey, OutboxEntry } from '../records/rows.ts';
import type { AttestationTable, StoreDatabase } from '../schema.ts';

const selectDue = prepared((db, { now, limit }: { now: string; limit: number }) =>
  db
    .selectFrom('attestation_outbox')
    .select(['tenant', 'job_id', 'created_at', 'attempts'])
    .where('due_at', 'is not', null)
    // A job that nobody tried to attest is always due: the clock may have been set back since the job ended.
    .where((entry) => entry.or([entry('attempts', '=', sql.lit(0)), entry('due_at', '<=', now)]))
    .orderBy('due_at')
    .limit(limit),
);

const postpone = updateBy('attestation_outbox', JOB, ['due_at', 'last_error', 'last_error_at'], {
  to: { attempts: sql<number>`attempts + 1` },
});

const resume = prepared((db, { at }: { at: string }) =>
  db
    .updateTable('attestation_outbox')
    // The jobs keep their old order, unless the clock was set back since.
    .set((entry) => ({
      due_at: entry.case().when('created_at', '<', at).then(entry.ref('created_at')).else(at).end(),
    }))
    .where((entry) => entry.or([entry('due_at', 'is', null), entry('due_at', '>', at)]))
    .where('attempts', '>', sql.lit(0)),
);

const leaveOutbox = deleteBy('attestation_outbox', JOB);

const enterOutbox = insertOf('attestation_outbox', [...JOB, 'created_at', 'due_at', 'last_error', 'last_error_at'], {
  attempts: 0,
});

const insertAttestation = insertOf('attestations', [
  ...JOB,
  'key_id',
  'receipt_sha256',
  'result_sha256',
  'result_size_bytes',
  'envelope_sha256',
  'envelope_size_bytes',
  'created_at',
  'result_artifact',
  'envelope',
]);

const insertEntry = prepared((db, { tenant, job_id, leaf_hash }: JobKey & { leaf_hash: Uint8Array }) =>
  db
    .insertInto('log_entries')
    .values({ tenant, job_id, leaf_hash, position: null })
    // A withdrawn attestation that is made again has the same leaf, unless the key was changed meanwhile.
    .onConflict((conflict) =>
      conflict
        .columns(['tenant', 'job_id'])
        .doUpdateSet({ leaf_hash, position: null })
        .where('log_entries.leaf_hash', '!=', leaf_hash),
    ),
);

const deleteAttestation = deleteBy('attestations', JOB);
const selectReceiptDigest = selectBy('receipts', JOB, ['receipt_sha256']);

const selectStored = prepared((db, key: JobKey) =>
  db
    .selectFrom('attestations')
    .leftJoin('receipts', (join) => join.on(same(JOB, 'receipts', 'attestations')))
    .select([
      'attestations.tenant',
      'attestations.key_id',
      'attestations.receipt_sha256',
      'attestations.result_sha256',
      'attestations.result_size_bytes',
      'attestations.envelope_sha256',
      'attestations.envelope_size_bytes',
      'attestations.envelope',
      'receipts.receipt_sha256 as stored_receipt_sha256',
    ])
    .where(hasKey('attestations', JOB, key)),
);

const selectResult = selectBy('attestations', JOB, ['result_artifact']);

/** Puts a job that just ended into the outbox; part of its terminal transaction. */
export function queueForAttestation(db: StoreDatabase, { at, ...key }: JobKey & { at: string }): void {
  enterOutbox.send(db, { ...key, created_at: at, due_at: at, last_error: null, last_error_at: null });
}

/** Jobs to be attested, in the order in which they ended: those never tried, and those that are due again at `now`. */
export function outbox(db: StoreDatabase, due: { now: string; limit: number }): Promise<readonly OutboxEntry[]> {
  return selectDue.all(db, due);
}

/**
 * Postpones an attestation until `due_at` because of `error`; if `due_at` is null, until `resumeAttestations`. Returns false if
 * the job is not in the outbox.
 */
export async function postponeAttestation(
  db: StoreDatabase,
  input: JobKey & { due_at: string | null; error: string; at: string },
): Promise<boolean> {
  return (await postpone.run(db, { ...input, last_error: input.error, last_error_at: input.at })) > 0;
}

/** Makes every job in the outbox due at `at`, in the order in which the jobs ended. Returns how many were postponed. */
export function resumeAttestations(db: StoreDatabase, at: string): Promise<number> {
  return resume.run(db, { at });
}

/**
 * Stores an attestation and takes its job out of the outbox. If the job is not in the outbox, nothing changes, and the answer is
 * false. The attestation must be for the stored receipt; an attestation for another receipt is a bug.
 */
export async function storeAttestation(db: StoreDatabase, input: AttestationInput): Promise<boolean> {
  const [waiting, receipt] = await Promise.all([leaveOutbox.run(db, input), selectReceiptDigest.first(db, input)]);
  if (waiting === 0) return false;
  assert(receipt?.receipt_sha256 === input.receipt_sha256, 'an attestation is of the stored receipt');
  const { result_artifact: artifact, result_size_bytes: size } = input;
  assert(isCompressed(artifact) || artifact.length === size, 'the artifact has its stated size');
  assert(input.envelope.length === input.envelope_size_bytes, 'the envelope has its stated size');
  insertAttestation.send(db, input);
  if (input.leaf_hash !== null) insertEntry.send(db, { ...input, leaf_hash: input.leaf_hash });
  return true;
}

/** Removes an attestation because of `error` and puts its job back into the outbox. False if there is no such attestation. */
export async function withdrawAttestation(
  db: StoreDatabase,
  { error, at, ...key }: JobKey & { error: string; at: string },
): Promise<boolean> {
  if ((await deleteAttestation.run(db, key)) === 0) return false;
  releaseResult(db, key);
  enterOutbox.send(db, { ...key, created_at: at, due_at: at, last_error: error, last_error_at: at });
  return true;
}

/**
 * The stored envelope. If `part` is the result artifact, also the artifact or the object that holds it. Null if this tenant has
 * no such attested job. Digests are computed here, on the reader's thread, because a result may have 16 MiB.
 */
export async function attestation(
  db: StoreDatabase,
  { key, part }: { key: JobKey; part: AttestationPart },
): Promise<StoredAttestation | null> {
  const stored = await selectStored.first(db, key);
  if (stored === null) return null;
  const { envelope, stored_receipt_sha256, ...row } = stored;
  const isEnvelopeIntact =
    stored_receipt_sha256 === row.receipt_sha256 &&
    isOf(envelope, { sha256: row.envelope_sha256, bytes: row.envelope_size_bytes });
  const bytes = part === 'result_artifact' ? ((await selectResult.first(db, key))?.result_artifact ?? null) : null;
  const object = bytes?.length === 0 ? await objectOf(db, { ...key, position: resultPosition }) : null;
  if (bytes === null || object !== null) {
    return { row, envelope, result_artifact: null, object, isIntact: isEnvelopeIntact };
  }
  const result_artifact = readResult(bytes, row);
  const isIntact =
    isEnvelopeIntact && isOf(result_artifact, { sha256: row.result_sha256, bytes: row.result_size_bytes });
  return { row, envelope, result_artifact, object, isIntact };
}

/** Makes the signed result from stored bytes that an object held; null if they are not the signed result. */
export async function resultOf(
  _db: StoreDatabase,
  { stored, row }: { readonly stored: Uint8Array; readonly row: AttestationRow },
): Promise<Uint8Array | null> {
  const result = readResult(stored, row);
  return isOf(result, { sha256: row.result_sha256, bytes: row.result_size_bytes }) ? result : null;
}

/** The result as it was signed. Stored bytes that cannot be expanded are returned unchanged: their digest differs. */
function readResult(
  stored: Uint8Array,
  { result_size_bytes }: Pick<AttestationTable, 'result_size_bytes'>,
): Uint8Array {
  try {
    return expanded(stored, result_size_bytes);
  } catch {
    return stored;
  }
}

function isOf(content: Uint8Array, { sha256, bytes }: { sha256: string; bytes: number }): boolean {
  return content.length === bytes && sha256Hex(content) === sha256;
}
