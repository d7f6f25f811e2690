/** The authority of the caller who made a ticket or a link, as columns in the row of the ticket or link. */
import type { Scope, Whoami } from '@vouchbox/protocol';
import type { AuthorityColumns } from '../schema-of-access.ts';

/** The columns of an authority. They are listed by name, because a newer version may add a column while this version works. */
export const AUTHORITY = [
  'tenant',
  'principal',
  'auth_method',
  'credential_id',
  'scopes',
  'authority_expires_at',
] as const;

type Authority = Omit<AuthorityColumns, 'job_id' | 'expires_at'>;

export function authorityOf({ expires_at, scopes, ...caller }: Whoami): Authority {
  const { tenant, principal, auth_method, credential_id } = caller;
  return {
    tenant,
    principal,
    auth_method,
    credential_id,
    scopes: JSON.stringify(scopes),
    authority_expires_at: expires_at,
  };
}

export function callerOf({ tenant, principal, auth_method, credential_id, ...row }: Authority): Whoami {
  const scopes = JSON.parse(row.scopes) as Scope[];
  return { tenant, principal, auth_method, credential_id, scopes, expires_at: row.authority_expires_at };
}
