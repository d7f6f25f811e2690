/**
 * The two signed documents as JSON: the envelope and the result artifact. They are served as the exact bytes that were
 * stored. Nothing reads them by these schemas; they tell what is in the bytes. Spec § Result artifact.
 */
import { Violation } from './events.ts';
import { endMembers } from './receipt.ts';
import { Sha256 } from './spellings.ts';
import { Type } from './type.ts';

/** DSSE v1.0.2. The payload is an in-toto Statement v1 as base64. */
export const DsseEnvelope = Type.Object({
  payload: Type.String(),
  payloadType: Type.String(),
  signatures: Type.Array(Type.Object({ keyid: Type.String(), sig: Type.String() })),
});

/** Text of https://c2sp.org/tlog-proof. */
export const LogProof = Type.String();

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
