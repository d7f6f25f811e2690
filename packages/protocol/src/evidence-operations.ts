/** The operations on signed evidence, as rows of the table in `operations.ts`. */
import { json, storedBytes } from './answers.ts';
import { DsseEnvelope, LogProof, PendingStatements, ResultArtifact } from './evidence.ts';
import { ENVELOPE_MEDIA_TYPE, LOG_MEDIA_TYPE, RESULT_MEDIA_TYPE } from './media-types.ts';
import type { OperationRow } from './operation.ts';
import { JOB_ERRORS, SCOPED_ERRORS, STORED_BYTES_ERRORS } from './operation-errors.ts';
import { PromiseQuery } from './queries.ts';
import { PublicKey } from './service.ts';

export const EVIDENCE_OPERATIONS = {
  getAttestation: {
    tag: 'evidence',
    summary: 'Fetch the exact bytes of the signed DSSE envelope.',
    access: 'jobs:read',
    answers: { 200: storedBytes('The envelope, byte for byte as it was stored.', ENVELOPE_MEDIA_TYPE, DsseEnvelope) },
    errors: STORED_BYTES_ERRORS,
    capacity: ['connection', 'response'],
  },
  getResultArtifact: {
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
    tag: 'evidence',
    summary: 'Fetch the proof that the log has the signed envelope.',
    description:
      'Its position, the hashes up to the root, and the signed head, as https://c2sp.org/tlog-proof. It is of the latest head, so a later answer may differ.',
    access: 'jobs:read',
    answers: { 200: storedBytes('The proof.', LOG_MEDIA_TYPE, LogProof) },
    errors: [...JOB_ERRORS, 'job_not_terminal', 'attestation_unavailable', 'log_proof_unavailable', 'not_logged'],
    capacity: ['connection'],
  },
  getPromise: {
    tag: 'evidence',
    summary: 'Fetch the signed promise that the log answers for the job.',
    description:
      'It says which job of its tenant it is, the digests of what was submitted, and by when the log has its result or says ' +
      'that it waits. It comes a moment after the job was accepted: with `wait_seconds`, as soon as it is signed.',
    access: 'jobs:read',
    query: PromiseQuery,
    answers: { 200: storedBytes('The envelope, byte for byte as it was stored.', ENVELOPE_MEDIA_TYPE, DsseEnvelope) },
    errors: [
      ...JOB_ERRORS,
      'promise_unavailable',
      'not_promised',
      'signing_key_unknown',
      'tenant_capacity_exhausted',
      'shutting_down',
    ],
    capacity: ['connection', 'wait', 'response'],
  },
  getPending: {
    tag: 'evidence',
    summary: 'Read what the log says of a promised job that waited too long.',
    description:
      "If a promised job's result is not logged in time, the log gets a signed statement that the job waits, with a new " +
      'time. Each is here with its proof, the newest last, and at most fifty of them.',
    access: 'jobs:read',
    answers: { 200: json('The statements; none if the job did not wait so long.', PendingStatements) },
    errors: [...JOB_ERRORS, 'not_promised'],
    capacity: ['connection'],
  },
  getCanary: {
    tag: 'evidence',
    summary: 'Fetch the signed envelope of the canary that the job names.',
    description:
      'A canary is a job of the service itself that tried, in a cell of the same class and pack on the same node, what cells must refuse. It shows how such cells were minutes before, and nothing of the cell of this job.',
    access: 'jobs:read',
    answers: { 200: storedBytes('The envelope, byte for byte as it was stored.', ENVELOPE_MEDIA_TYPE, DsseEnvelope) },
    errors: [...STORED_BYTES_ERRORS, 'canary_not_found'],
    capacity: ['connection', 'response'],
  },
  getPublicKey: {
    tag: 'evidence',
    summary: 'Read the current signing key.',
    description: 'Get it another way too, and pin it: a key from the signer itself proves nothing about the signer.',
    access: 'service:read',
    answers: { 200: json('The key as canonical SPKI PEM.', PublicKey) },
    errors: [...SCOPED_ERRORS, 'attestation_disabled'],
    capacity: ['connection'],
  },
} as const satisfies Record<string, OperationRow>;
