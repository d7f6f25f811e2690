/** Spec § Authentication, rule by rule. */
import type { Promised } from './promise.ts';

export const AUTHENTICATION: readonly Promised[] = [
  [
    'Authentication 1: Bearer on all of /v1',
    'contract/conformance › without a credential',
    'contract/access-rows › AUTH-01',
  ],
  [
    'Authentication 2: indexed, RFC 9068, legacy',
    'contract/access › svc keys',
    'contract/access › an access token',
    'server/access/jwt › the test vectors of RFC 9068 access tokens',
    'server/access/authenticate › a legacy key stands for one tenant with every scope',
  ],
  [
    'Authentication 3: scopes by route',
    'contract/conformance › with every scope but its own',
    'contract/conformance › with its own scope alone',
  ],
  [
    'Authentication 4: ownership is always checked',
    'contract/conformance › a job of another tenant is one that there is not:',
    'contract/access-rows › AUTH-20 a job',
  ],
  [
    'Authentication 5: 401 with a challenge',
    'contract/conformance › is refused with a challenge',
    'contract/conformance › and the challenge says so',
  ],
  [
    'Authentication 6: tickets, and no key in an address',
    'server/http/stream › does not open the stream of another job',
    'client/follow › the key in a stream address',
  ],
  ['Authentication 7: no permissive CORS', 'contract/access-rows › AUTH-18 a page of another origin'],
  ['Authentication 8: rotation closes connections', 'contract/access › what a credential holds open ends with it:'],
  [
    'Authentication 9: /metrics has its own token',
    'contract/metrics › are shown to the token of the metrics',
    'contract/metrics › have a token that opens nothing else',
  ],
  [
    'Authentication 10: pinned keys, old ones kept',
    'contract/attestation › is rotated without a restart',
    'verifier/service-verify › tries every pinned key, and is not led by the keyid',
  ],
  [
    'Authentication 10: service-verify verify and its options',
    'verifier/service-verify › its command line',
    'verifier/service-verify › without --%s is wrong usage',
  ],
  ['Authentication 10: what a success does not prove', 'verifier/service-verify › and what a success does not prove'],
  [
    'Authentication 10: SERVICE_ATTESTATION_MODE off',
    'contract/attestation › with signing off no key is made and nothing is served',
  ],
];
