/**
 * The one table of refusals: the code, its HTTP status, and whether the same request may succeed later. The OpenAPI
 * document and the server's answers are made from it. Spec § Errors.
 */

interface ErrorRow {
  readonly status: number;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** The contract's text about the code. The message of an answer says at least this. */
  readonly meaning: string;
}

export const ERRORS = {
  invalid_request: { status: 400, retryable: false, meaning: 'The request does not fit its schema.' },
  invalid_json: { status: 400, retryable: false, meaning: 'The body is not one strict JSON value.' },
  unsupported_language: { status: 400, retryable: false, meaning: 'The language is not one the service knows.' },
  network_not_allowed: { status: 400, retryable: false, meaning: 'Network egress is never granted.' },
  unauthorized: { status: 401, retryable: false, meaning: 'The credential is missing or invalid.' },
  insufficient_scope: {
    status: 403,
    retryable: false,
    meaning: 'The credential lacks a scope that the request needs.',
  },
  principal_not_allowed: {
    status: 403,
    retryable: false,
    meaning:
      'Only the principal that submitted the job may do this; calls of tools are also answered by those that the submission names.',
  },
  job_not_found: { status: 404, retryable: false, meaning: 'No such job belongs to the tenant.' },
  tool_call_not_found: {
    status: 404,
    retryable: false,
    meaning: 'The job made no such call of a tool, or the service answered it itself.',
  },
  grading_not_found: { status: 404, retryable: false, meaning: 'No such grading belongs to the tenant.' },
  session_not_found: { status: 404, retryable: false, meaning: 'The principal has no such session.' },
  links_disabled: { status: 404, retryable: false, meaning: 'The operator allows no links to results.' },
  link_not_found: { status: 404, retryable: false, meaning: 'There is no such link, or no longer.' },
  blob_not_found: { status: 404, retryable: false, meaning: 'The tenant has no such blob, or no longer.' },
  route_not_found: { status: 404, retryable: false, meaning: 'No such route.' },
  attestation_unavailable: { status: 404, retryable: true, meaning: 'The job ended and is not signed yet.' },
  attestation_disabled: { status: 404, retryable: false, meaning: 'The operator has turned signing off.' },
  log_proof_unavailable: { status: 404, retryable: true, meaning: 'The log does not have the job yet.' },
  not_logged: { status: 404, retryable: false, meaning: 'No log is kept, or none was when the job was signed.' },
  promise_unavailable: { status: 404, retryable: true, meaning: 'The promise is not signed yet.' },
  not_promised: { status: 404, retryable: false, meaning: 'The job was accepted without a promise.' },
  canary_not_found: {
    status: 404,
    retryable: false,
    meaning: 'The job names no canary, or one that is no longer kept.',
  },
  signing_key_unknown: {
    status: 404,
    retryable: false,
    meaning: 'The job was signed with a key that the service does not have.',
  },
  method_not_allowed: { status: 405, retryable: false, meaning: 'The route does not take this method.' },
  body_timeout: { status: 408, retryable: true, meaning: 'The body did not arrive in time.' },
  job_not_terminal: { status: 409, retryable: true, meaning: 'The job has not ended yet.' },
  job_terminal: { status: 409, retryable: false, meaning: 'The job has ended.' },
  tool_call_answered: { status: 409, retryable: false, meaning: 'The call has another answer already.' },
  session_conflict: {
    status: 409,
    retryable: false,
    meaning: 'The session is not where the submission says, or another step of it is not over.',
  },
  payload_too_large: { status: 413, retryable: false, meaning: 'The body or a part of it is over its bound.' },
  unsupported_media_type: { status: 415, retryable: false, meaning: 'The body is not plain application/json.' },
  expectation_failed: { status: 417, retryable: false, meaning: 'The Expect header asks for something unknown.' },
  runtime_unavailable: {
    status: 422,
    retryable: false,
    meaning: 'The language or runtime pack is not available here.',
  },
  minimum_isolation_unsatisfied: {
    status: 422,
    retryable: false,
    meaning: 'This service isolates less than was demanded.',
  },
  enforcement_unsatisfied: {
    status: 422,
    retryable: false,
    meaning: 'This service does not hold a limit that must be held.',
  },
  promise_not_offered: {
    status: 422,
    retryable: false,
    meaning: 'The service keeps no log, so it promises nothing.',
  },
  blob_unavailable: {
    status: 422,
    retryable: false,
    meaning: 'A file names a blob that the tenant does not have, or no longer.',
  },
  input_unavailable: {
    status: 422,
    retryable: false,
    meaning: 'A file names an output of a job that has not ended, lacks it or is not there.',
  },
  tool_result_misfit: {
    status: 422,
    retryable: false,
    meaning: "The result does not fit the tool's schema, and the call is still open.",
  },
  digest_mismatch: { status: 422, retryable: false, meaning: 'The address names the digest of another body.' },
  idempotency_key_reused: { status: 422, retryable: false, meaning: 'The key was used for another job specification.' },
  rate_limited: { status: 429, retryable: true, meaning: "The tenant's request budget is spent." },
  tenant_capacity_exhausted: { status: 429, retryable: true, meaning: 'The tenant holds as many of these as it may.' },
  head_too_large: { status: 431, retryable: false, meaning: 'The request head is over its bound.' },
  internal: { status: 500, retryable: true, meaning: 'The service failed; the request id finds it in the log.' },
  queue_full: { status: 503, retryable: true, meaning: 'The queue is full.' },
  capacity_exhausted: { status: 503, retryable: true, meaning: 'The service has no capacity for this at present.' },
  store_unavailable: { status: 503, retryable: true, meaning: 'The service cannot reach its stored data at present.' },
  issuer_unavailable: { status: 503, retryable: true, meaning: 'The keys of the token issuer cannot be read.' },
  worker_unavailable: { status: 503, retryable: true, meaning: 'No cell can be made at present.' },
  shutting_down: { status: 503, retryable: true, meaning: 'The service is stopping.' },
  insufficient_storage: { status: 507, retryable: true, meaning: 'The free-space reserve forbids another job.' },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;
export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];
