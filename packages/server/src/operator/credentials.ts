/**
 * What an operator does with indexed credentials: issue, list, rotate, revoke. A secret is made here, shown once and kept only as
 * a digest. Only operators reach this code, through the command line. No part of it is reachable over HTTP.
 */
import { SCOPES, type Scope } from '@vouchbox/protocol/vocabulary';
import type { CredentialRows } from '../access/credential-rows.ts';
import { newKey } from '../access/indexed.ts';
import { isTenantName } from '../access/tenant.ts';
import type { CredentialRow } from '../store/records/rows.ts';
import { OperatorError } from './operator-error.ts';

/** The parts of a credential that operators see: everything except the digest of its secret. */
export type CredentialView = Omit<CredentialRow, 'secret_sha256'>;

/** A new credential with its key. The key cannot be shown again. */
export interface IssuedCredential extends CredentialView {
  readonly key: string;
}

export interface CreateRequest {
  readonly tenant: string;
  /** Null names the principal after the credential. */
  readonly principal: string | null;
  /** Null gives every scope. */
  readonly scopes: readonly string[] | null;
  /** RFC 3339 with an offset; null for a credential that does not expire. */
  readonly expires_at: string | null;
}

export interface RotateRequest {
  readonly credential_id: string;
  /** When the successor expires. Null means the time at which its predecessor would have expired. */
  readonly expires_at: string | null;
  /** How long the predecessor stays valid beside its successor. With 0, it ends at once with its open requests and streams. */
  readonly overlap_seconds: number;
}

export interface Credentials {
  /** @throws OperatorError if the request cannot be granted */
  create(request: CreateRequest): Promise<IssuedCredential>;
  /** All credentials, even ended ones, oldest first; those of every tenant if `tenant` is null. */
  list(request: { readonly tenant: string | null }): Promise<readonly CredentialView[]>;
  /**
   * Replaces an old key with a new key that has the same tenant, principal and scopes.
   *
   * @throws OperatorError if there is no such credential, or it has already ended
   */
  rotate(request: RotateRequest): Promise<IssuedCredential>;
  /**
   * Ends a credential now. A credential that has already ended stays as it is.
   *
   * @throws OperatorError if there is no such credential
   */
  revoke(request: { readonly credential_id: string }): Promise<CredentialView>;
}

type CredentialStore = Omit<CredentialRows, 'whenEnded'>;

/** For how many seconds two keys of one caller may overlap. */
export const overlapSecondsMax = 7 * 24 * 3600;

const PRINCIPAL = /^[A-Za-z0-9][A-Za-z0-9._@:/+-]{0,127}$/;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** Credentials in a store. `now` is the time of day in milliseconds. */
export function createCredentials(store: CredentialStore, now: () => number = Date.now): Credentials {
  const found = async (credential_id: string): Promise<CredentialRow> => {
    const row = await store.credential(credential_id);
    if (row === null) throw unknownCredential(credential_id);
    return row;
  };
  return {
    async create({ tenant, principal, scopes, expires_at }) {
      const { key, ...made } = newKey();
      const row: CredentialRow = {
        ...made,
        tenant: checkedTenant(tenant),
        principal: checkedPrincipal(principal ?? `key:${made.credential_id}`),
        scopes: checkedScopes(scopes),
        created_at: timestamp(now()),
        expires_at: checkedExpiry(expires_at, now()),
        revoked_at: null,
      };
      await store.createCredential(row);
      return { ...viewOf(row), key };
    },
    async list({ tenant }) {
      return (await store.credentials(tenant)).map(viewOf);
    },
    async rotate({ credential_id, expires_at, overlap_seconds }) {
      const row = await found(credential_id);
      checkStanding(row, now());
      const { key, ...made } = newKey();
      const successor: CredentialRow = {
        ...row,
        ...made,
        created_at: timestamp(now()),
        expires_at: checkedExpiry(expires_at, now()) ?? row.expires_at,
        revoked_at: null,
      };
      const at = timestamp(now() + checkedOverlap(overlap_seconds) * 1000);
      if (!(await store.rotateCredential({ credential_id, at, successor }))) throw unknownCredential(credential_id);
      return { ...viewOf(successor), key };
    },
    async revoke({ credential_id }) {
      if (!(await store.revokeCredential({ credential_id, at: timestamp(now()) }))) {
        throw unknownCredential(credential_id);
      }
      return viewOf(await found(credential_id));
    },
  };
}

function viewOf(row: CredentialRow): CredentialView {
  const { credential_id, tenant, principal, scopes, created_at, expires_at, revoked_at } = row;
  return { credential_id, tenant, principal, scopes, created_at, expires_at, revoked_at };
}

function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

function checkedTenant(tenant: string): string {
  if (isTenantName(tenant)) return tenant;
  throw new OperatorError('this tenant name is not allowed', {
    hint: 'a tenant is 1 to 64 letters, digits, dots, dashes and underscores, the first a letter or a digit',
  });
}

function checkedPrincipal(principal: string): string {
  if (PRINCIPAL.test(principal)) return principal;
  throw new OperatorError('this principal is not allowed', {
    hint: 'a principal is 1 to 128 letters, digits and . _ @ : / + -, the first a letter or a digit',
  });
}

/** The scopes in the contract's order, each once. */
function checkedScopes(scopes: readonly string[] | null): Scope[] {
  if (scopes === null) return [...SCOPES];
  const isKnown = (scope: string) => (SCOPES as readonly string[]).includes(scope);
  if (scopes.length > 0 && scopes.every(isKnown)) return SCOPES.filter((scope) => scopes.includes(scope));
  throw new OperatorError('a credential needs one or more of the known scopes', { hint: SCOPES.join(', ') });
}

function checkedExpiry(expires_at: string | null, now: number): string | null {
  if (expires_at === null) return null;
  const milliseconds = TIMESTAMP.test(expires_at) ? Date.parse(expires_at) : Number.NaN;
  if (milliseconds > now) return timestamp(milliseconds);
  throw new OperatorError('a credential must expire in the future', {
    hint: 'write it as 2031-01-31T12:00:00Z',
  });
}

function checkedOverlap(seconds: number): number {
  if (seconds >= 0 && seconds <= overlapSecondsMax) return seconds;
  throw new OperatorError(`two keys overlap for 0 to ${overlapSecondsMax} seconds`);
}

function checkStanding({ credential_id, expires_at, revoked_at }: CredentialRow, now: number): void {
  const hasCome = (time: string | null) => time !== null && Date.parse(time) <= now;
  const hint = 'create a new one';
  if (revoked_at !== null) throw new OperatorError(`${credential_id} was revoked or rotated already`, { hint });
  if (hasCome(expires_at)) throw new OperatorError(`${credential_id} has expired`, { hint });
}

function unknownCredential(credential_id: string): OperatorError {
  const shown = /^[a-z0-9]{1,64}$/.test(credential_id) ? ` ${credential_id}` : '';
  return new OperatorError(`there is no credential${shown}`, { hint: '`vouchbox keys list` shows all credentials' });
}
