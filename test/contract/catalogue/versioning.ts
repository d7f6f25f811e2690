/** Spec § Versioning, rule by rule. */
import type { Promised } from './promise.ts';

export const VERSIONING: readonly Promised[] = [
  [
    'Versioning 1: /openapi.json is the contract',
    'protocol/openapi › equals the checked-in openapi.json',
    'contract/conformance-properties › every answer to a request made from the contract',
  ],
  ['Versioning 2: /v1', 'contract/errors › for want of a route'],
  ['Versioning 3: hash_version', 'contract/upgrade › events of v0.1 are served with hash version 0'],
  [
    'Versioning 4: the outbox, schema_version 1, markers of v1',
    'contract/attestation › is about a result artifact',
    'contract/upgrade › every job that ended is attested after an upgrade',
  ],
  ['Versioning 5: fallbacks for older servers', 'client/follow › following where there is no stream'],
  [
    'Versioning 6: attestations that lack a link',
    'server/store/migrations/migrate › keep an attestation that has all its links, and lose and owe every other',
  ],
];
