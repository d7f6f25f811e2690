/** Spec § Endpoints: every route, every numbered rule, every sentence on transfer. */
import type { Promised } from './promise.ts';

export const ENDPOINTS: readonly Promised[] = [
  [
    'All of /v1 asks for a credential, but for a stream with a ticket',
    'contract/conformance › without a credential',
    'server/http/stream › a ticket',
  ],
  [
    'The table of routes',
    'protocol/operations › is the endpoint table, each route with its scope',
    'contract/conformance › the document that is served has every operation, and no other',
  ],
  ['GET /healthz', 'contract/service › healthz says that it lives'],
  [
    'GET /readyz',
    'contract/service › readyz says that it would take a job',
    'contract/status › a service that is stopping says so',
    'contract/serve › the service is not ready until it is back',
  ],
  ['GET /openapi.json', 'contract/service › openapi.json is the contract that is checked in'],
  [
    'Public surfaces hold no secret',
    'contract/access-rows › AUTH-14',
    'contract/service › the public surfaces hold no secret',
  ],

  [
    'POST /v1/jobs: Idempotency-Key, one, 1–128 visible ASCII, of the tenant',
    'contract/idempotency › a key (IDEM-04, IDEM-10)',
    'contract/idempotency › a key belongs to its tenant',
  ],
  [
    'POST /v1/jobs: 201 with id, status, addresses, Location and Idempotency-Replayed',
    'contract/submission › answers 201 with where the job is',
  ],
  [
    'POST /v1/jobs 1: the same key and specification',
    'contract/idempotency › the same key and specification give the first job again',
    'contract/idempotency › the same specification (IDEM-03)',
  ],
  [
    'POST /v1/jobs 2: the same key for another',
    'contract/idempotency › another specification under the same key is refused and makes no job',
  ],
  [
    'POST /v1/jobs 3: isolation is checked before the job is stored, and again before it runs',
    'contract/submission › for demanding %s of a service that has less',
    'server/job/dispatch/dispatcher › ends as isolation_unsatisfied, and nothing of it ran',
  ],
  ['POST /v1/jobs 4: no network', 'contract/submission › for wanting the network'],
  [
    'POST /v1/jobs 5: unavailable and unknown',
    'contract/submission › for a runtime pack that is not here',
    'contract/submission › for a language that there is not',
  ],
  [
    'POST /v1/jobs 6: 503, 429 and 507, each with Retry-After',
    'contract/capacity › takes as many as it may, of one tenant and of all',
    'contract/capacity › keeps new jobs out while it is touched',
    'contract/error-codes › with Retry-After where time mends it',
  ],
  [
    'POST /v1/jobs 7: repeated only with its key',
    'client/service-client › whose answer is lost is repeated with the very same key and body',
    'client/service-client › without a key is made once',
  ],
  [
    'GET /v1/jobs/{id}: detail, or 404',
    'contract/posture › detail has exactly the members',
    'contract/posture › a foreign job and an unknown one are the same 404',
  ],
  [
    'DELETE /v1/jobs/{id}',
    'contract/cancellation › ends it as cancelled, keeps what it wrote',
    'contract/cancellation › twice at once is one cancellation',
    'contract/cancellation › as cancelled says both',
  ],
  [
    'GET result: wait_seconds up to 300',
    'contract/result › may be %s',
    'contract/result › may not be %j',
    'contract/connections › E-26',
  ],
  [
    'GET result: the folded result',
    'contract/result › has exactly the members of the specification',
    'contract/result › is the same every time it is read',
  ],
  [
    'GET result: shutdown is 503 shutting_down, without a part',
    'contract/shutdown › RST-01',
    'server/http/transport › a wait ends with 503 shutting_down and no part of a result',
  ],
  ['GET result: 429 where the tenant holds its waits', 'contract/capacity › are held up to their number'],
  ['GET result: polling spends the one budget', 'contract/capacity › is one for reads and submissions of a tenant'],
  [
    'GET replay: after is exclusive, limit',
    'contract/replay › starts after its cursor, which is exclusive',
    'contract/replay › may not be asked for as %s',
  ],
  [
    'GET replay: in order, and nothing runs again',
    'contract/replay › of %i leads on to the next',
    'contract/replay › does not run the program again',
  ],
  [
    'GET replay: never on from a page that was cut short',
    'client/service-client › and never from a page that was cut short',
  ],
  [
    'POST stream-ticket: short, one use, one job',
    'server/access/tickets › good to its last millisecond',
    'contract/streams › opens one of fifty streams',
    'contract/streams › that is spent, made up or of another job',
  ],
  ['Stream 1: opened by its address', 'contract/streams › of a real program that ends while it is opened'],
  ['Stream 2: the ticket is spent before admission', 'contract/budgets › a refused one has spent its ticket'],
  [
    'Stream 3: history, then live, closed after the end',
    'server/http/stream › gives stored history, then what comes',
    'contract/stream-end › wherever the end falls',
  ],
  [
    'Stream 4: on from the last sequence with a new ticket',
    'client/follow › goes on after the last event with a new ticket, and drops what it took already',
  ],
  [
    'Stream 5: what a client handles',
    'client/follow › following by the stream',
    'contract/access › what a credential holds open ends with it',
    'contract/stream-load › a reader that takes nothing',
  ],
  [
    'GET attestation and result-artifact: exact bytes, length and digest',
    'contract/attestation › has in detail the digests, sizes',
    'contract/attestation › stored bytes are the same after a restart',
  ],
  [
    'GET attestation and result-artifact: the same authorization',
    'contract/attestation › of a foreign or unknown job is 404',
  ],
  [
    'GET attestation and result-artifact: clients check the digest',
    'client/service-client › with a digest that is %s are refused',
  ],
  ['GET public-key', 'contract/attestation › is served as canonical PEM with its id and a notice'],
  [
    'GET /v1/jobs: limit, cursor, status, language',
    'contract/list › pages',
    'contract/list › filters',
    'contract/list › that are %s are refused',
  ],
  [
    'GET /v1/metrics, GET /metrics',
    'contract/metrics › are of its own current jobs and of nobody else’s',
    'contract/metrics › are shown to the token of the metrics and to nothing else',
  ],
  [
    'GET /metrics: off without a token, fixed cardinality, OpenMetrics by negotiation',
    'contract/metrics › are all there is where the operator set no token',
    'contract/metrics › have as many series whatever clients send',
    'contract/metrics › come in the format that the scraper prefers',
  ],
  ['GET /v1/status', 'contract/status › has the members of the contract'],
  [
    'Transfer: a pump of one piece of 64 KiB',
    'server/http/pump › nothing is read ahead of a reader that takes nothing',
    'server/http/pump › in pieces of at most 64 KiB',
  ],
  [
    'Transfer: the permit is held to the end',
    'contract/budgets › for responses are held to the last byte, by a tenant and by all',
  ],
  [
    'Transfer: what is cut short does not satisfy its length',
    'server/http/transport › a connection whose reader takes nothing is reset',
    'client/service-client › that was cut short is never parsed',
  ],
  [
    'Transfer: reads may be tried again',
    'client/service-client › is tried again after capacity refusals and lost connections',
  ],
];
