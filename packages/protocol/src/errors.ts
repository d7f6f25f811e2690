/**
 * The one table of refusals: the code, its HTTP status, and whether the same request may succeed later. The OpenAPI
 * document and the server's answers are made from it. Spec § Errors.
 */

interface ErrorRow {
  readonly status: number;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** The contract's text about the code. An answer's message says at least this much. */
  readonly meaning: string;
}

const final = (status: number, meaning: string): ErrorRow => ({ status, retryable: false, meaning });
const retryable = (status: number, meaning: string): ErrorRow => ({ status, retryable: true, meaning });

export const ERRORS = {
  invalid_request: final(400, 'The request does not fit its schema.'),
  invalid_json: final(400, 'The body is not one strict JSON value.'),
  unsupported_language: final(400, 'The language is not one the service knows.'),
  network_not_allowed: final(400, 'Network egress is never granted.'),
  unauthorized: final(401, 'The credential is missing or invalid.'),
  insufficient_scope: final(403, 'The credential lacks a scope that the request needs.'),
  principal_not_allowed: final(
    403,
    'Only the principal that submitted the job may do this; those that the submission names may answer calls of tools, too.',
  ),
  job_not_found: final(404, 'No such job belongs to the tenant.'),
  tool_call_not_found: final(404, 'The job made no such call of a tool, or the service answered it itself.'),
  grading_not_found: final(404, 'No such grading belongs to the tenant.'),
  session_not_found: final(404, 'The principal has no such session.'),
  links_disabled: final(404, 'The operator allows no links to results.'),
  link_not_found: final(404, 'The link does not exist or has ended.'),
  blob_not_found: final(404, 'The tenant does not have the blob, or no longer has it.'),
  route_not_found: final(404, 'No such route.'),
  attestation_unavailable: retryable(404, 'The job ended and is not signed yet.'),
  attestation_disabled: final(404, 'The operator has turned signing off.'),
  log_proof_unavailable: retryable(404, 'The log does not have the job yet.'),
  not_logged: final(404, 'No log is kept, or none was kept when the job was signed.'),
  promise_unavailable: retryable(404, 'The promise is not signed yet.'),
  not_promised: final(404, 'The job was accepted without a promise.'),
  canary_not_found: final(404, 'The job names no canary, or one that is no longer kept.'),
  signing_key_unknown: final(404, 'The job was signed with a key that the service does not have.'),
  method_not_allowed: final(405, 'The route does not take this method.'),
  body_timeout: retryable(408, 'The body did not arrive in time.'),
  job_not_terminal: retryable(409, 'The job has not ended yet.'),
  job_terminal: final(409, 'The job has ended.'),
  tool_call_answered: final(409, 'The call has another answer already.'),
  session_conflict: final(409, 'The session is not where the submission says, or another of its steps still runs.'),
  payload_too_large: final(413, 'The body or a part of it is over its bound.'),
  unsupported_media_type: final(415, 'The body is not plain application/json.'),
  expectation_failed: final(417, 'The Expect header asks for something unknown.'),
  runtime_unavailable: final(422, 'The language or runtime pack is not available here.'),
  minimum_isolation_unsatisfied: final(422, 'This service isolates less than was demanded.'),
  enforcement_unsatisfied: final(422, 'This service does not hold a limit that must be held.'),
  promise_not_offered: final(422, 'The service keeps no log, so it promises nothing.'),
  blob_unavailable: final(422, 'A file names a blob that the tenant does not have, or no longer has.'),
  input_unavailable: final(422, 'A file names an output of a job that is unknown, has not ended or lacks the output.'),
  tool_result_misfit: final(422, "The result does not fit the tool's schema, and the call is still open."),
  digest_mismatch: final(422, 'The address names the digest of another body.'),
  idempotency_key_reused: final(422, 'The key was used for another job specification or grading.'),
  rate_limited: retryable(429, "The tenant's request budget is spent."),
  tenant_capacity_exhausted: retryable(429, 'The tenant holds as many of these as it may.'),
  head_too_large: final(431, 'The request head is over its bound.'),
  internal: retryable(500, 'The service failed; the request id finds it in the log.'),
  queue_full: retryable(503, 'The queue is full.'),
  capacity_exhausted: retryable(503, 'The service has no capacity for this at present.'),
  store_unavailable: retryable(503, 'The service cannot reach its stored data at present.'),
  issuer_unavailable: retryable(503, 'The keys of the token issuer cannot be read.'),
  worker_unavailable: retryable(503, 'No cell can be made at present.'),
  shutting_down: retryable(503, 'The service is stopping.'),
  insufficient_storage: retryable(507, 'The free-space reserve forbids another job.'),
};

export type ErrorCode = keyof typeof ERRORS;
export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];
