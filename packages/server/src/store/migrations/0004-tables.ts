/**
 * The tables of both kinds of store, as `schema.ts` describes them. The tenant leads every key and every foreign key, so that the
 * tables can be distributed by tenant. Two tables have no tenant: credentials are looked up by their id alone, and probes belong
 * to the whole store.
 *
 * A large column comes last in its table, so that the other columns are read without it.
 */

/** How a kind of store spells the parts of the tables that differ. */
export interface Spelling {
  /** The type of a text, which is compared by its bytes. */
  readonly text: string;
  /** The type of a whole number of 64 bits. */
  readonly long: string;
  readonly bytes: string;
  /** The end of `create table` if the rows are small. They are then stored in the order of their key. */
  readonly small: string;
  /** The end of `create table` if the last column may be large. */
  readonly large: string;
  /** The primary key of tickets. */
  readonly ticketKey: string;
}

/** The key of a job, in every table of jobs. Rows with this key are removed with their job. */
export const ofJob = `tenant {text} not null,
  job_id {text} not null`;
export const referToJob = 'foreign key (tenant, job_id) references jobs (tenant, job_id) on delete cascade';

/** The SQL of all tables. A word in braces is a name of the spelling. */
const TABLES = `
create table jobs (
  ${ofJob},
  status {text} not null,
  language {text} not null,
  runtime {text},
  created_at {text} not null,
  started_at {text},
  finished_at {text},
  duration_ms {long},
  exit_code {long},
  signal {text},
  terminal_reason {text},
  cancellation_requested integer not null,
  truncated integer not null,
  chain_seq {long} not null,
  chain_head {text} not null,
  primary key (tenant, job_id)
){small};
create index jobs_by_status on jobs (tenant, status, language, created_at, job_id);
create index jobs_by_time on jobs (tenant, created_at, job_id);
create index jobs_running on jobs (started_at) where status = 'running';
create index jobs_finished on jobs (finished_at) where finished_at is not null;

create table queue (
  ${ofJob},
  language {text} not null,
  runtime {text},
  mem_mb {long} not null,
  created_at {text} not null,
  primary key (tenant, job_id),
  ${referToJob}
){small};
create index queue_by_time on queue (tenant, created_at, job_id);

create table job_specs (
  ${ofJob},
  execution {text},
  evidence {text},
  requested_spec {text} not null,
  primary key (tenant, job_id),
  ${referToJob}
){large};

create table events (
  ${ofJob},
  seq {long} not null,
  timestamp {text} not null,
  kind {text} not null,
  hash_version integer not null,
  prev_hash {text},
  event_hash {text},
  data {text} not null,
  primary key (tenant, job_id, seq),
  ${referToJob}
){large};

create table output_runs (
  ${ofJob},
  seq {long} not null,
  last_seq {long} not null,
  prev_hash {text} not null,
  size_bytes {long} not null,
  event_hashes {bytes} not null,
  content {bytes} not null,
  primary key (tenant, job_id, seq),
  ${referToJob}
){large};

create table artifacts (
  ${ofJob},
  position integer not null,
  path {text} not null,
  size_bytes {long} not null,
  sha256 {text} not null,
  content {bytes} not null,
  primary key (tenant, job_id, position),
  ${referToJob}
){large};
create index artifacts_large on artifacts (length(content)) where length(content) >= 65536;

create table receipts (
  ${ofJob},
  receipt_json {text} not null,
  receipt_sha256 {text} not null,
  primary key (tenant, job_id),
  ${referToJob}
){large};

create table attestation_outbox (
  ${ofJob},
  created_at {text} not null,
  attempts {long} not null,
  due_at {text},
  last_error {text},
  last_error_at {text},
  primary key (tenant, job_id),
  ${referToJob}
){small};
create index attestation_outbox_due on attestation_outbox (due_at);
create index attestation_outbox_errors on attestation_outbox (last_error_at) where last_error_at is not null;

create table attestations (
  ${ofJob},
  key_id {text} not null,
  receipt_sha256 {text} not null,
  result_sha256 {text} not null,
  result_size_bytes {long} not null,
  envelope_sha256 {text} not null,
  envelope_size_bytes {long} not null,
  created_at {text} not null,
  result_artifact {bytes} not null,
  envelope {bytes} not null,
  primary key (tenant, job_id),
  ${referToJob}
){large};
create index attestations_large on attestations (length(result_artifact)) where length(result_artifact) >= 65536;

create table idempotency_keys (
  ${ofJob},
  idempotency_key {text} not null,
  spec_sha256 {text} not null,
  primary key (tenant, idempotency_key),
  ${referToJob}
){small};
create unique index idempotency_keys_by_job on idempotency_keys (tenant, job_id);

create table tenants (
  tenant {text} not null primary key,
  queued {long} not null,
  running {long} not null,
  last_turn {long} not null
){small};
create index tenants_waiting on tenants (tenant) where queued > 0;
create index tenants_by_turn on tenants (last_turn);

create table credentials (
  credential_id {text} not null primary key,
  tenant {text} not null,
  principal {text} not null,
  scopes {text} not null,
  secret_sha256 {text} not null,
  created_at {text} not null,
  expires_at {text},
  revoked_at {text}
){small};
create index credentials_by_tenant on credentials (tenant, created_at, credential_id);

create table stream_tickets (
  ${ofJob},
  ticket_sha256 {text} not null,
  principal {text} not null,
  auth_method {text} not null,
  credential_id {text} not null,
  scopes {text} not null,
  authority_expires_at {text},
  expires_at {text} not null,
  primary key ({ticketKey}),
  ${referToJob}
){small};
create index stream_tickets_by_job on stream_tickets (tenant, job_id);
create index stream_tickets_by_end on stream_tickets (expires_at);

create table probes (
  probe_id integer not null primary key,
  count {long} not null
){large};

create table blobs (
  tenant {text} not null,
  blob_id {text} not null,
  sha256 {text} not null,
  size_bytes {long} not null,
  is_whole integer not null,
  used_at {text} not null,
  primary key (tenant, blob_id)
){small};
create unique index blobs_by_digest on blobs (tenant, sha256) where is_whole = 1;
create index blobs_by_use on blobs (used_at);

create table blob_pieces (
  tenant {text} not null,
  blob_id {text} not null,
  position integer not null,
  content {bytes} not null,
  primary key (tenant, blob_id, position),
  foreign key (tenant, blob_id) references blobs (tenant, blob_id) on delete cascade
){large};

create table job_blobs (
  ${ofJob},
  blob_id {text} not null,
  primary key (tenant, job_id, blob_id),
  ${referToJob},
  foreign key (tenant, blob_id) references blobs (tenant, blob_id) on delete cascade
){small};
create index job_blobs_by_blob on job_blobs (tenant, blob_id);

create table objects (
  tenant {text} not null,
  object_id {text} not null,
  sha256 {text} not null,
  size_bytes {long} not null,
  state {text} not null,
  changed_at {text} not null,
  primary key (tenant, object_id)
){small};
create index objects_by_digest on objects (tenant, sha256, state);
create index objects_by_state on objects (state, changed_at) where state <> 'stored';

create table object_uses (
  ${ofJob},
  position integer not null,
  object_id {text} not null,
  primary key (tenant, job_id, position),
  ${referToJob},
  foreign key (tenant, object_id) references objects (tenant, object_id)
){small};
create index object_uses_by_object on object_uses (tenant, object_id);
`;

export function tablesIn(spelling: Spelling): string {
  return spelled(TABLES, spelling);
}

/** Statements in the words of a kind of store. */
export function spelled(statements: string, spelling: Spelling): string {
  return statements.replaceAll(/\{(\w+)\}/g, (_, name: keyof Spelling) => spelling[name]);
}
