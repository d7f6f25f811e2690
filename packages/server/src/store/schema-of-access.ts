/** The tables of credentials, and of what is made with credentials: see `schema.ts`. */
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
  /** When the credential ends early. This may be in the future, if another credential replaces it. */
  revoked_at: string | null;
}

/** The authority of the caller that made a stream ticket or a link. */
export interface AuthorityColumns {
  tenant: string;
  job_id: string;
  principal: string;
  auth_method: AuthMethod;
  credential_id: string;
  /** The scopes, as a JSON array. */
  scopes: string;
  /** When the credential that made this object ends; null if it does not end. */
  authority_expires_at: string | null;
  expires_at: string;
}

export interface StreamTicketTable extends AuthorityColumns {
  ticket_sha256: string;
}

/** A link to the result of a job. */
export interface JobLinkTable extends AuthorityColumns {
  link_id: string;
  secret_sha256: string;
  /** The parts that the link shows, which are names of `LINK_PARTS`: a JSON array. */
  shows: string;
  created_at: string;
}
