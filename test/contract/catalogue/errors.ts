/** Spec § Errors, row by row. */
import type { Promised } from './promise.ts';

export const ERRORS: readonly Promised[] = [
  [
    'Envelope: its members, and X-Request-Id',
    'contract/errors › a request that cannot be served',
    'contract/errors › an answer that is no refusal has a request id too',
    'contract/transport-battery › refused with 400',
  ],
  [
    'Each code under its status',
    'contract/error-codes › %s comes about under its status',
    'protocol/errors › holds exactly the codes of the contract',
  ],
  ['400 invalid request', 'contract/submission › a submission that is refused'],
  ['400 unsupported_language', 'contract/submission › for a language that there is not, and not for how it is spelled'],
  ['401', 'contract/errors › is asked for at %s with a challenge'],
  [
    '404 job_not_found',
    'contract/errors › for want of a job',
    'contract/replay › a foreign job and an unknown one are the same 404',
  ],
  ['409', 'contract/attestation › of a running job is 409'],
  ['422 runtime_unavailable', 'contract/submission › for a runtime pack that is not here'],
  ['422 minimum_isolation_unsatisfied', 'contract/submission › for demanding %s of a service that has less'],
  ['422 idempotency_key_reused', 'contract/idempotency › another specification under the same key'],
  ['429 rate_limited', 'contract/budgets › is told with every answer'],
  [
    '429 for capacity of the tenant',
    'contract/budgets › permits',
    'contract/capacity › the queue',
    'contract/capacity › waits',
  ],
  [
    '503 for capacity of all, and for shutdown',
    'contract/budgets › by a tenant and by all',
    'contract/shutdown › RST-01',
    'server/http/transport › a wait ends with 503 shutting_down and no part of a result',
  ],
  ['507', 'contract/capacity › the free-space reserve'],
  [
    'Retry-After, backoff, and reads that are tried again',
    'client/backoff › is never shorter than Retry-After',
    'client/service-client › is tried again after capacity refusals',
  ],
  ['job_not_found is never a missing route', 'client/follow › a foreign job is never taken for a missing route'],
];
