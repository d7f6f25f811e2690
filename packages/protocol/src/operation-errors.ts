/** Refusals that many operations share. `operations.ts` lists the refusals of each operation. */
import type { ErrorCode } from './errors.ts';

/** The errors that may answer any request. */
export const REQUEST_ERRORS = [
  'invalid_request',
  'expectation_failed',
  'head_too_large',
  'internal',
] as const satisfies readonly ErrorCode[];

/** The errors of every operation that looks at a credential. */
export const CREDENTIAL_ERRORS = [
  ...REQUEST_ERRORS,
  'unauthorized',
  'capacity_exhausted',
  'store_unavailable',
  'issuer_unavailable',
] as const satisfies readonly ErrorCode[];

/** The errors of every operation that asks for a credential. */
export const CALLER_ERRORS = [...CREDENTIAL_ERRORS, 'rate_limited'] as const satisfies readonly ErrorCode[];
export const SCOPED_ERRORS = [...CALLER_ERRORS, 'insufficient_scope'] as const satisfies readonly ErrorCode[];
export const JOB_ERRORS = [...SCOPED_ERRORS, 'job_not_found'] as const satisfies readonly ErrorCode[];

export const GRADING_ERRORS = [...SCOPED_ERRORS, 'grading_not_found'] as const satisfies readonly ErrorCode[];

/** The errors of every operation that reads a body. */
export const BODY_ERRORS = [
  'invalid_json',
  'body_timeout',
  'payload_too_large',
  'unsupported_media_type',
] as const satisfies readonly ErrorCode[];

/** The errors of every operation that accepts programs to run. */
export const ADMISSION_ERRORS = [
  ...SCOPED_ERRORS,
  ...BODY_ERRORS,
  'unsupported_language',
  'network_not_allowed',
  'runtime_unavailable',
  'minimum_isolation_unsatisfied',
  'enforcement_unsatisfied',
  'blob_unavailable',
  'input_unavailable',
  'idempotency_key_reused',
  'tenant_capacity_exhausted',
  'queue_full',
  'worker_unavailable',
  'insufficient_storage',
  'shutting_down',
] as const satisfies readonly ErrorCode[];

export const STORED_BYTES_ERRORS = [
  ...JOB_ERRORS,
  'tenant_capacity_exhausted',
  'job_not_terminal',
  'attestation_unavailable',
  'attestation_disabled',
  'signing_key_unknown',
] as const satisfies readonly ErrorCode[];
