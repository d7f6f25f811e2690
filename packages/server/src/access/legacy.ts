/** Keys that the operator configures. Each has a tenant and every scope, and never expires. Spec § Authentication 2. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { sha256Hex } from '@vouchbox/evidence';
import { SCOPES } from '@vouchbox/protocol/vocabulary';
import type { Caller } from '../ground/caller.ts';
import type { CredentialKind } from './authenticate.ts';
import { isTenantName } from './tenant.ts';

export interface LegacyKey {
  readonly tenant: string;
  readonly key: string;
}

/**
 * Keeps only the digests of the keys, and finds a key by its digest. The time that a look-up takes can reveal only digests, and
 * no caller can choose a digest.
 *
 * @throws Error naming the entry, never the key, if a tenant's name is not allowed or a key is given twice
 */
export function createLegacyKeys(keys: readonly LegacyKey[]): CredentialKind {
  const known = new Map<string, Caller>();
  for (const [index, { tenant, key }] of keys.entries()) {
    if (!isTenantName(tenant)) throw new Error(`legacy key ${index + 1} has a tenant that is not allowed`);
    const digest = sha256Hex(key);
    if (known.has(digest)) throw new Error('a legacy key is given twice');
    known.set(digest, legacyCaller(tenant, index + 1));
  }
  return {
    method: 'legacy',
    resolve: async (token) => known.get(sha256Hex(token)) ?? null,
    // The keys of a process are the same for its whole life.
    stands: async () => true,
    // A ticket may outlive the process, and in the next process another key may have the ordinal of this key.
    pledge(caller, ticket) {
      const own = [...known].find(([, { credential_id }]) => credential_id === caller.credential_id);
      return own === undefined ? caller : { ...caller, credential_id: pledgeOf(own[0], ticket).toString('hex') };
    },
    redeem(pledge, ticket) {
      const given = Buffer.from(pledge.credential_id, 'hex');
      const isGiven = (expected: Buffer) => expected.length === given.length && timingSafeEqual(expected, given);
      const own = [...known].find(([digest]) => isGiven(pledgeOf(digest, ticket)))?.[1] ?? null;
      return own?.tenant === pledge.tenant ? own : null;
    },
  };
}

/**
 * Names a key so that only a holder of both the key and the ticket can check the name. A reader of the store has neither, and
 * cannot use the pledge to test guessed keys.
 */
function pledgeOf(keyDigest: string, ticket: string): Buffer {
  return createHmac('sha256', Buffer.from(keyDigest, 'hex')).update(ticket).digest();
}

function legacyCaller(tenant: string, ordinal: number): Caller {
  return {
    tenant,
    principal: `legacy:${tenant}`,
    auth_method: 'legacy',
    credential_id: `legacy_${ordinal}`,
    scopes: [...SCOPES],
    expires_at: null,
  };
}
