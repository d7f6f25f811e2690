/** The tables of credentials, and of what callers make with them: see `schema.ts`. */
import type { AuthMethod } from '@vouchbox/protocol';

export interface CredentialTable {
  credential_id: string;
  tenant: string;
  principal: string;
  /** The scopes, as a JSON array. */
  scopes: string;
  secret_sha256: string;
  created_at: string;
  /** When the credential expires; null if it does not expire. */
  expires_at: string | null;
  /** When the credential ends early. The time may lie in the future if another credential replaces this one. */
  revoked_at: string | null;
}

/** The authority of the caller who made a stream ticket or a link. */
export interface AuthorityColumns {
  tenant: string;
  job_id: string;
  principal: string;
  auth_method: AuthMethod;
  credential_id: string;
  /** The scopes, as a JSON array. */
  scopes: string;
  /** When the credential that made the ticket or link ends; null if it does not end. */
  authority_expires_at: string | null;
  expires_at: string;
}

export interface StreamTicketTable extends AuthorityColumns {
  ticket_sha256: string;
}

/** A link to a job's result. */
export interface JobLinkTable extends AuthorityColumns {
  link_id: string;
  secret_sha256: string;
  /** The parts that the link shows, as a JSON array of names from `LINK_PARTS`. */
  shows: string;
  created_at: string;
}
