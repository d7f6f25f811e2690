/**
 * Keys that the operator issues: `svc_<index>_<secret>`. The index finds the row. Only a digest of the secret is stored, so
 * reading the store does not let anybody use a key. Spec § Authentication 2.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { sha256Hex } from '@vouchbox/evidence';
import { SCOPES, type Scope } from '@vouchbox/protocol/vocabulary';
import type { Caller } from '../ground/caller.ts';
import type { CredentialRow } from '../store/records/rows.ts';
import { type CredentialKind, hasExpired, unknownCredential } from './authenticate.ts';
import type { CredentialRows } from './credential-rows.ts';

const INDEX_BYTES = 9;
const SECRET_BYTES = 32;
const KEY = /^svc_([a-z0-9]{8,32})_([A-Za-z0-9_-]{43})$/;

/** A new key, to be shown once, with the identifier and the digest for its row in the store. */
export function newKey(): { readonly key: string } & Pick<CredentialRow, 'credential_id' | 'secret_sha256'> {
  const credential_id = randomBytes(INDEX_BYTES).toString('hex');
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return { key: `svc_${credential_id}_${secret}`, credential_id, secret_sha256: sha256Hex(secret) };
}

/** Recognises keys by their form, and accepts those whose row is valid. `now` is the time of day in milliseconds. */
export function createIndexedKeys(
  rows: Pick<CredentialRows, 'credential' | 'whenEnded'>,
  now: () => number = Date.now,
): CredentialKind {
  return {
    method: 'key',
    async resolve(token) {
      const [, credential_id, secret] = KEY.exec(token) ?? [];
      if (credential_id === undefined || secret === undefined) return null;
      const row = await rows.credential(credential_id);
      // If the index is unknown, the secret is compared with an empty digest, so that this refusal takes as long as any other.
      const isRight = isSame(sha256Hex(secret), row?.secret_sha256 ?? NO_DIGEST);
      return row !== null && isRight && isStanding(row, now()) ? callerOf(row) : unknownCredential();
    },
    async stands({ credential_id }) {
      const row = await rows.credential(credential_id);
      return row !== null && isStanding(row, now());
    },
    whenEnded: (listener) => rows.whenEnded(listener),
  };
}

export const NO_DIGEST = '0'.repeat(64);

/** Whether two digests in hex are equal. The time of the comparison does not show how many digits are equal. */
export function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one, 'latin1'), Buffer.from(other, 'latin1'));
}

/** Whether a key is valid now. A rotated key may stay valid for a while beside its successor. */
function isStanding(row: CredentialRow, now: number): boolean {
  return !hasExpired(row.revoked_at, now) && !hasExpired(row.expires_at, now);
}

function callerOf(row: CredentialRow): Caller {
  const { tenant, principal, credential_id } = row;
  const expires_at = earlier(row.expires_at, row.revoked_at);
  const scopes: Scope[] = SCOPES.filter((scope) => row.scopes.includes(scope));
  return { tenant, principal, auth_method: 'key', credential_id, scopes, expires_at };
}

/** The earlier of two timestamps. Timestamps of the store sort as text; null means never. */
function earlier(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}
