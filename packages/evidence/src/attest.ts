/**
 * Makes a terminal job's attestation in one deterministic step: the result artifact, the statement about the artifact, and the
 * signed envelope around the statement. Everything is checked again before the signature, so a record that was damaged on disk is
 * never signed.
 */

import type { JobEvent } from '@vouchbox/protocol';
import {
  envelopeBytesMax,
  RECEIPT_SCHEMA_VERSION,
  RESULT_MEDIA_TYPE,
  resultArtifactBytesMax,
} from '@vouchbox/protocol/vocabulary';
import { sha256Hex } from '#sha256';
import { canonicalJson } from './canonical-json.ts';
import { type EnvelopeSignature, encodeEnvelope, preAuthEncoding } from './dsse.ts';
import { logLeaf } from './log/log-entry.ts';
import type { Hash } from './log/tree.ts';
import {
  executionPredicate,
  type KeptForPredicate,
  keptProblem,
  PREDICATE_TYPE,
  type StoredReceipt,
} from './predicate.ts';
import type { PinnedKey } from './public-key.ts';
import { verifyReceipt } from './receipt.ts';
import { resultArtifactBytes, resultSubjectName, type TerminalJob } from './result-artifact.ts';
import { STATEMENT_MEDIA_TYPE, STATEMENT_TYPE, type Statement } from './statement.ts';
import { chainStatedIn, verifyChain } from './verify-chain.ts';

/** Signs with pure Ed25519. That is deterministic, so attesting again gives the same bytes. */
export interface EnvelopeSigner {
  readonly key_id: string;
  /** The signer's public key, if the signer's statements are to be logged. */
  readonly loggedKey?: PinnedKey | null;
  sign(message: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>;
}

/** The exact bytes to store, and their digests. */
export interface Attestation {
  readonly key_id: string;
  readonly result: Uint8Array<ArrayBuffer>;
  readonly result_sha256: string;
  readonly envelope: Uint8Array<ArrayBuffer>;
  readonly envelope_sha256: string;
  /** The hash of the envelope's leaf in the log; null if the envelope is not to be logged. */
  readonly leaf_hash: Hash | null;
}

export type AttestResult =
  | { readonly kind: 'attested'; readonly attestation: Attestation }
  /** The stored record contradicts itself. Signing it again later fails in the same way. */
  | { readonly kind: 'inconsistent'; readonly reason: string }
  /** A bound of the contract would be exceeded. */
  | {
      readonly kind: 'too_large';
      readonly what: 'result' | 'envelope';
      readonly bytes: number;
      readonly bytesMax: number;
    };

/** A terminal job with its stored receipt and complete history. */
export interface TerminalRecord {
  readonly job: TerminalJob;
  readonly receipt: StoredReceipt;
  readonly events: readonly JobEvent[];
  readonly kept: KeptForPredicate;
  /** The texts from which the events' data was read; the checks use them unchanged. Absent if the texts are not known. */
  readonly dataTexts?: readonly (string | undefined)[];
}

/** Builds and signs the attestation of a job. */
export function attest(record: TerminalRecord, signer: EnvelopeSigner): AttestResult {
  const reason = inconsistency(record);
  if (reason !== null) return { kind: 'inconsistent', reason };
  const result = resultArtifactBytes(record.job, record.events);
  if (result.length > resultArtifactBytesMax) return tooLarge('result', result.length, resultArtifactBytesMax);
  const result_sha256 = sha256Hex(result);
  const signed = signStatement(statementOf(record, result.length, result_sha256), signer);
  const { envelope } = signed;
  if (envelope.length > envelopeBytesMax) return tooLarge('envelope', envelope.length, envelopeBytesMax);
  // Without a salt, anyone who has the key and guesses the statement could find its leaf.
  const leaf_hash = record.kept.salt === null ? null : signed.leaf_hash;
  const { key_id } = signer;
  return {
    kind: 'attested',
    attestation: { key_id, result, result_sha256, envelope, envelope_sha256: sha256Hex(envelope), leaf_hash },
  };
}

function inconsistency(record: TerminalRecord): string | null {
  const { job, receipt, events } = record;
  const digest = verifyReceipt(receipt);
  if (digest.kind === 'broken' || digest.receipt_sha256 !== job.receipt_sha256)
    return 'the receipt does not match its digest';
  const chain = verifyChain(events, {
    job_id: job.job_id,
    ...chainStatedIn(receipt),
    ...(record.dataTexts !== undefined && { dataTexts: record.dataTexts }),
  });
  if (chain.kind === 'broken') return `the event chain is broken at ${chain.seq}: ${chain.problem}`;
  const contradicted = contradictedMember(record);
  return contradicted === null
    ? keptProblem(record.kept)
    : `the job's ${contradicted} differs from that of its receipt`;
}

/** The members that the predicate repeats. Receipts of every version have them. */
const STATED_BY_EVERY_RECEIPT = ['tenant', 'job_id', 'status', 'exit_code', 'finished_at'] as const;
const STATED_BY_OURS = [
  ...STATED_BY_EVERY_RECEIPT,
  'signal',
  'terminal_reason',
  'created_at',
  'started_at',
  'duration_ms',
] as const;

/** The first member of the job that its receipt or its history contradicts. No digest covers the job's own row. */
function contradictedMember({ job, receipt, events }: TerminalRecord): string | null {
  const isOurs = receipt['schema_version'] === RECEIPT_SCHEMA_VERSION;
  for (const name of isOurs ? STATED_BY_OURS : STATED_BY_EVERY_RECEIPT) {
    if (Object.hasOwn(receipt, name) && receipt[name] !== job[name]) return name;
  }
  const wasTruncated = receipt['truncated'] ?? (isOurs ? events.some(({ kind }) => kind === 'truncated') : undefined);
  return wasTruncated !== undefined && wasTruncated !== job.truncated ? 'truncated' : null;
}

function statementOf({ job, receipt, kept }: TerminalRecord, resultSizeBytes: number, sha256: string): Unsigned {
  return {
    predicate: executionPredicate(job, receipt, { ...kept, resultSizeBytes }),
    predicateType: PREDICATE_TYPE,
    subject: [{ digest: { sha256 }, mediaType: RESULT_MEDIA_TYPE, name: resultSubjectName(job.job_id) }],
  };
}

/** A statement that is to be signed. Its members are in canonical order, like those of all data that is written often. */
export type Unsigned = Pick<Statement, 'subject' | 'predicateType'> & { readonly predicate: object };

/** A signed statement as it is stored; `leaf_hash` is null if the statement is not to be logged. */
export interface Signed {
  readonly envelope: Uint8Array<ArrayBuffer>;
  readonly leaf_hash: Hash | null;
}

/** Signs a statement in canonical form. The statement gets a log leaf if the signer's statements are logged. */
export function signStatement(statement: Unsigned, signer: EnvelopeSigner): Signed {
  const payload = new TextEncoder().encode(canonicalJson({ _type: STATEMENT_TYPE, ...statement }));
  const signed = signedEnvelope(payload, signer);
  const envelope = encodeEnvelope(signed);
  const [signature] = signed.signatures;
  const { loggedKey: key } = signer;
  return { envelope, leaf_hash: key == null ? null : logLeaf({ bytes: envelope, envelope: signed, signature, key }) };
}

/** An envelope around a statement's bytes, with one signature. */
export function signedEnvelope(payload: Uint8Array<ArrayBuffer>, signer: EnvelopeSigner) {
  const sig = signer.sign(preAuthEncoding(STATEMENT_MEDIA_TYPE, payload));
  const signatures: [EnvelopeSignature] = [{ keyid: signer.key_id, sig }];
  return { payloadType: STATEMENT_MEDIA_TYPE, payload, signatures };
}

function tooLarge(what: 'result' | 'envelope', bytes: number, bytesMax: number): AttestResult {
  return { kind: 'too_large', what, bytes, bytesMax };
}
