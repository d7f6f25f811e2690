/** The tables of credentials, and of objects made with one: see `schema.ts`. */
import type { AuthMethod } from '@vouchbox/protocol';

export interface CredentialTable {
  credential_id: string;
  tenant: string;
  principal: string;
  /** A JSON array. */
  scopes: string;
  secret_sha256: string;
  created_at: string;
  /** When it expires; null if it does not expire. */
  expires_at: string | null;
  /** When it ends early; may be in the future, if another credential replaces it. */
  revoked_at: string | null;
}

/** The authority of something that was made with a credential. */
export interface AuthorityColumns {
  tenant: string;
  job_id: string;
  principal: string;
  auth_method: AuthMethod;
  credential_id: string;
  /** A JSON array. */
  scopes: string;
  /** When the credential that minted it ends; null if it does not. */
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
  /** Names of `LINK_PARTS`: a JSON array. */
  shows: string;
  created_at: string;
}
