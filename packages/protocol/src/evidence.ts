/**
 * The two signed documents as JSON: the envelope and the result artifact. The service serves the exact bytes that were stored.
 * These schemas only describe those bytes; no code reads the bytes with them. Spec § Result artifact.
 */
import { Violation } from './events.ts';
import { endMembers } from './receipt.ts';
import { Sha256, Timestamp } from './spellings.ts';
import { Nullable, type Static, Type } from './type.ts';

/** DSSE v1.0.2. The payload is an in-toto Statement v1 as base64. */
export const DsseEnvelope = Type.Object({
  payload: Type.String(),
  payloadType: Type.String(),
  signatures: Type.Array(Type.Object({ keyid: Type.String(), sig: Type.String() })),
});
export type DsseEnvelope = Static<typeof DsseEnvelope>;

/** A log proof as text: https://c2sp.org/tlog-proof. */
export const LogProof = Type.String();

/** A signed statement for the log: a job has waited longer than was promised. */
export const PendingStatement = Type.Object({
  stated_at: Timestamp,
  /** By this time the log has the result, or another statement that the job still waits. */
  answer_by: Timestamp,
  /** The canonical form (RFC 8785) of this object was signed and logged. */
  envelope: DsseEnvelope,
  log_proof: Nullable(
    Type.String({ description: "The proof, as a job's `log-proof` has it; null until the log has the statement." }),
  ),
});
export type PendingStatement = Static<typeof PendingStatement>;

/** All statements that a job waits, the oldest first. */
export const PendingStatements = Type.Object({ items: Type.Array(PendingStatement) });
export type PendingStatements = Static<typeof PendingStatements>;

export const ResultArtifact = Type.Object({
  _type: Type.String(),
  schema_version: Type.Integer(),
  tenant: Type.String(),
  job_id: Type.String(),
  ...endMembers,
  receipt_sha256: Sha256,
  stdout: Type.String(),
  stderr: Type.String(),
  truncated: Type.Boolean(),
  violations: Type.Array(Violation),
});
