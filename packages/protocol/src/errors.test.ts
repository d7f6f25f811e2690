import { describe, expect, test } from 'vitest';
import { ERRORS } from './errors.ts';

/** The statuses of all refusals in the contract, each with its codes. */
const CONTRACT: readonly (readonly [number, readonly string[]])[] = [
  [400, ['invalid_request', 'invalid_json', 'unsupported_language', 'network_not_allowed']],
  [401, ['unauthorized']],
  [403, ['insufficient_scope', 'principal_not_allowed']],
  [
    404,
    [
      'job_not_found',
      'blob_not_found',
      'grading_not_found',
      'tool_call_not_found',
      'route_not_found',
      'attestation_unavailable',
      'attestation_disabled',
      'signing_key_unknown',
      'log_proof_unavailable',
      'not_logged',
      'promise_unavailable',
      'not_promised',
      'canary_not_found',
      'session_not_found',
      'link_not_found',
      'links_disabled',
    ],
  ],
  [405, ['method_not_allowed']],
  [408, ['body_timeout']],
  [409, ['job_not_terminal', 'job_terminal', 'session_conflict', 'tool_call_answered']],
  [413, ['payload_too_large']],
  [415, ['unsupported_media_type']],
  [417, ['expectation_failed']],
  [
    422,
    [
      'runtime_unavailable',
      'minimum_isolation_unsatisfied',
      'enforcement_unsatisfied',
      'promise_not_offered',
      'blob_unavailable',
      'input_unavailable',
      'digest_mismatch',
      'idempotency_key_reused',
      'tool_result_misfit',
    ],
  ],
  [429, ['rate_limited', 'tenant_capacity_exhausted']],
  [431, ['head_too_large']],
  [500, ['internal']],
  [
    503,
    [
      'queue_full',
      'capacity_exhausted',
      'store_unavailable',
      'issuer_unavailable',
      'worker_unavailable',
      'shutting_down',
    ],
  ],
  [507, ['insufficient_storage']],
];

describe('the table of errors (Spec § Errors)', () => {
  test('has exactly the codes of the contract, each under its status', { tags: ['Errors-23'] }, () => {
    const table = Object.entries(ERRORS).map(([code, { status }]) => `${status} ${code}`);
    const contract = CONTRACT.flatMap(([status, codes]) => codes.map((code) => `${status} ${code}`));
    expect(table.sort()).toEqual(contract.sort());
  });

  test.each([429, 503, 507])('marks every %i as retryable: capacity comes back', { tags: ['Errors-25'] }, (status) => {
    const rows = Object.values(ERRORS).filter((row) => row.status === status);
    expect(rows.every((row) => row.retryable)).toBe(true);
  });

  test.each([400, 401, 403, 413, 415, 422])(
    'does not mark any %i as retryable: the same request fails again',
    (status) => {
      const rows = Object.values(ERRORS).filter((row) => row.status === status);
      expect(rows.some((row) => row.retryable)).toBe(false);
    },
  );
});
