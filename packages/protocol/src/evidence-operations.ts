/** The operations on signed evidence, rows of the table in `operations.ts`. */
import { json, storedBytes } from './answers.ts';
import { ENDPOINTS } from './endpoints.ts';
import { DsseEnvelope, LogProof, ResultArtifact } from './evidence.ts';
import { ENVELOPE_MEDIA_TYPE, LOG_MEDIA_TYPE, RESULT_MEDIA_TYPE } from './media-types.ts';
import type { Operation } from './operation.ts';
import { JOB_ERRORS, SCOPED_ERRORS, STORED_BYTES_ERRORS } from './operation-errors.ts';
import { PublicKey } from './service.ts';

export const EVIDENCE_OPERATIONS = {
  getAttestation: {
    ...ENDPOINTS.getAttestation,
    tag: 'evidence',
    summary: 'Fetch the exact bytes of the signed DSSE envelope.',
    access: 'jobs:read',
    answers: { 200: storedBytes('The envelope, byte for byte as it was stored.', ENVELOPE_MEDIA_TYPE, DsseEnvelope) },
    errors: STORED_BYTES_ERRORS,
    capacity: ['connection', 'response'],
  },
  getResultArtifact: {
    ...ENDPOINTS.getResultArtifact,
    tag: 'evidence',
    summary: 'Fetch the exact bytes that the attestation is about.',
    access: 'jobs:read',
    answers: {
      200: storedBytes('The result artifact, byte for byte as it was stored.', RESULT_MEDIA_TYPE, ResultArtifact),
    },
    errors: STORED_BYTES_ERRORS,
    capacity: ['connection', 'response'],
  },
  getLogProof: {
    ...ENDPOINTS.getLogProof,
    tag: 'evidence',
    summary: 'Fetch the proof that the log has the signed envelope.',
    description:
      'Its position, the hashes up to the root, and the signed head, as https://c2sp.org/tlog-proof. It is of the latest head, so a later answer may differ.',
    access: 'jobs:read',
    answers: { 200: storedBytes('The proof.', LOG_MEDIA_TYPE, LogProof) },
    errors: [...JOB_ERRORS, 'job_not_terminal', 'attestation_unavailable', 'log_proof_unavailable', 'not_logged'],
    capacity: ['connection'],
  },
  getPublicKey: {
    ...ENDPOINTS.getPublicKey,
    tag: 'evidence',
    summary: 'Read the current signing key.',
    description: 'Get it another way too, and pin it: a key from the signer itself proves nothing about the signer.',
    access: 'service:read',
    answers: { 200: json('The key as canonical SPKI PEM.', PublicKey) },
    errors: [...SCOPED_ERRORS, 'attestation_disabled'],
    capacity: ['connection'],
  },
} as const satisfies Record<string, Operation>;
