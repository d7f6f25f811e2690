/**
 * Keys that the operator issues: `svc_<index>_<secret>`. The index finds the row; of the secret only its digest is kept,
 * so that nobody who reads the ledger can use a key. Spec § Authentication 2.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { sha256Hex } from '@svc/evidence';
import { SCOPES, type Scope } from '@svc/protocol/vocabulary';
import type { Caller } from '../caller.ts';
import { type Soon, whenKnown } from '../soon.ts';
import { type CredentialKind, hasExpired, unknownCredential } from './authenticate.ts';

/** A credential as the ledger keeps it. Times are RFC 3339 UTC. */
export interface CredentialRow {
  /** The index of the key. */
  readonly credential_id: string;
  readonly tenant: string;
  readonly principal: string;
  readonly scopes: readonly string[];
  /** Lower-case hex of the SHA-256 of the secret's text. */
  readonly secret_sha256: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
}

/** What is asked of the ledger. */
export interface CredentialRows {
  credential(credential_id: string): Promise<CredentialRow | null>;
}

const INDEX_BYTES = 9;
const SECRET_BYTES = 32;
const KEY = /^svc_([a-z0-9]{8,32})_([A-Za-z0-9_-]{43})$/;

/** How long a row is believed: what the operator revokes is refused within this time, without a restart. */
const rowMilliseconds = 1000;
const rowsKeptMax = 1000;

/** A new key, to be shown once, and what the ledger keeps of it. */
export function newKey(): { readonly key: string } & Pick<CredentialRow, 'credential_id' | 'secret_sha256'> {
  const credential_id = randomBytes(INDEX_BYTES).toString('hex');
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return { key: `svc_${credential_id}_${secret}`, credential_id, secret_sha256: sha256Hex(secret) };
}

/** Knows keys by their form, and believes those whose row stands. `now` is the time of day in milliseconds. */
export function createIndexedKeys(rows: CredentialRows, now: () => number = Date.now): CredentialKind {
  const rowOf = remembering((credential_id) => rows.credential(credential_id));
  return {
    method: 'key',
    resolve(token) {
      const [, credential_id, secret] = KEY.exec(token) ?? [];
      if (credential_id === undefined || secret === undefined) return null;
      return whenKnown(rowOf(credential_id), (row) => {
        // An unknown index is compared as well, with nothing, so that it takes as long as a wrong secret.
        const isRight = isSame(sha256Hex(secret), row?.secret_sha256 ?? NO_DIGEST);
        return row !== null && isRight && isStanding(row, now()) ? callerOf(row) : unknownCredential();
      });
    },
    async stands({ credential_id }) {
      const row = await rowOf(credential_id);
      return row !== null && isStanding(row, now());
    },
  };
}

const NO_DIGEST = '0'.repeat(64);

/** Whether two digests in hex are one, in a time that does not tell how much of them is. */
function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one, 'latin1'), Buffer.from(other, 'latin1'));
}

/** An end that was decided may lie ahead, where another key replaces this one. */
function isStanding(row: CredentialRow, now: number): boolean {
  return !hasExpired(row.revoked_at, now) && !hasExpired(row.expires_at, now);
}

function callerOf(row: CredentialRow): Caller {
  const { tenant, principal, credential_id } = row;
  const expires_at = earlier(row.expires_at, row.revoked_at);
  const scopes: Scope[] = SCOPES.filter((scope) => row.scopes.includes(scope));
  return { tenant, principal, auth_method: 'key', credential_id, scopes, expires_at };
}

/** Both as timestamps of the ledger, which sort as text; null is never. */
function earlier(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}

type RowOf = (credential_id: string) => Soon<CredentialRow | null>;

/** Asks for a row at most once a second. Only rows that exist are remembered, so guessing fills no memory. */
function remembering(read: RowOf): RowOf {
  const kept = new Map<string, { readonly at: number; readonly row: CredentialRow }>();
  return (credential_id) => {
    const at = performance.now();
    const known = kept.get(credential_id);
    if (known !== undefined && at - known.at < rowMilliseconds) return known.row;
    return whenKnown(read(credential_id), (row) => {
      kept.delete(credential_id);
      if (row !== null) kept.set(credential_id, { at, row });
      if (kept.size > rowsKeptMax) dropOldest(kept);
      return row;
    });
  };
}

/** A Map lists its entries in the order of their insertion. */
export function dropOldest(kept: Map<string, unknown>): void {
  const [oldest] = kept.keys();
  if (oldest !== undefined) kept.delete(oldest);
}
