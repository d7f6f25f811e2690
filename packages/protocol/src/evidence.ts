/**
 * The two signed documents as JSON: the envelope and the result artifact. They are served as the exact bytes that were
 * stored. Nothing reads them by these schemas; they tell what is in the bytes. Spec § Result artifact.
 */
import { Violation } from './events.ts';
import { Sha256, Timestamp } from './spellings.ts';
import { TERMINAL_REASONS, TERMINAL_STATUSES } from './status.ts';
import { Nullable, Type } from './type.ts';

/** DSSE v1.0.2. The payload is an in-toto Statement v1 as base64. */
export const DsseEnvelope = Type.Object({
  payload: Type.String(),
  payloadType: Type.String(),
  signatures: Type.Array(Type.Object({ keyid: Type.String(), sig: Type.String() })),
});

export const ResultArtifact = Type.Object({
  _type: Type.String(),
  schema_version: Type.Integer(),
  tenant: Type.String(),
  job_id: Type.String(),
  status: Type.Enum([...TERMINAL_STATUSES]),
  exit_code: Nullable(Type.Integer()),
  signal: Nullable(Type.String()),
  /** Null of a job that ended before reasons were recorded. */
  terminal_reason: Nullable(Type.Enum([...TERMINAL_REASONS])),
  created_at: Timestamp,
  started_at: Nullable(Timestamp),
  finished_at: Timestamp,
  duration_ms: Nullable(Type.Integer()),
  receipt_sha256: Sha256,
  stdout: Type.String(),
  stderr: Type.String(),
  truncated: Type.Boolean(),
  violations: Type.Array(Violation),
});
