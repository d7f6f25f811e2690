/**
 * The tables of the store on PostgreSQL, as `schema.ts` describes them. Text is compared by its bytes, whatever the
 * collation of the database. The tenant leads every key and every foreign key, so the tables can be distributed by it.
 * Three small tables have no tenant to lead them: credentials are looked up by their id alone, and probes and the
 * holder belong to the whole store.
 *
 * Large columns hold what is compressed already, so the server does not try to compress them again.
 */
export const createTables = `
create table jobs (
  tenant text collate "C" not null,
  job_id text collate "C" not null,
  status text collate "C" not null,
  language text collate "C" not null,
  runtime text collate "C",
  created_at text collate "C" not null,
  started_at text collate "C",
  finished_at text collate "C",
  duration_ms bigint,
  exit_code bigint,
  signal text collate "C",
  terminal_reason text collate "C",
  cancellation_requested integer not null,
  truncated integer not null,
  chain_seq bigint not null,
  chain_head text collate "C" not null,
  primary key (tenant, job_id)
);
create index jobs_by_status on jobs (tenant, status, language, created_at, job_id);
create index jobs_by_time on jobs (tenant, created_at, job_id);
create index jobs_running on jobs (started_at) where status = 'running';
create index jobs_finished on jobs (finished_at) where finished_at is not null;

create table queue (
  tenant text collate "C" not null,
  job_id text collate "C" not null,
  language text collate "C" not null,
  runtime text collate "C",
  mem_mb bigint not null,
  created_at text collate "C" not null,
  primary key (tenant, job_id),
  foreign key (tenant, job_id) references jobs on delete cascade
);
create index queue_by_time on queue (tenant, created_at, job_id);

create table job_specs (
  tenant text collate "C" not null,
  job_id text collate "C" not null,
  requested_spec text collate "C" not null,
  evidence text collate "C",
  primary key (tenant, job_id),
  foreign key (tenant, job_id) references jobs on delete cascade
);

create table job_executions (
  tenant text collate "C" not null,
  job_id text collate "C" not null,
  execution text collate "C" not null,
  primary key (tenant, job_id),
  foreign key (tenant, job_id) references jobs on delete cascade
);

create table events (
  tenant text collate "C" not null,
  job_id text collate "C" not null,
  seq bigint not null,
  timestamp text collate "C" not null,
  kind text collate "C" not null,
  hash_version integer not null,
  prev_hash text collate "C",
  event_hash text collate "C",
  data text collate "C" not null,
  primary key (tenant, job_id, seq),
  foreign key (tenant, job_id) references jobs on delete cascade
);

create table output_runs (
  tenant text collate "C" not null,
  job_id text collate "C" not null,
  seq bigint not null,
  last_seq bigint not null,
  prev_hash text collate "C" not null,
  size_bytes bigint not null,
  event_hashes bytea not null,
  content bytea not null,
  primary key (tenant, job_id, seq),
  foreign key (tenant, job_id) references jobs on delete cascade
);
alter table output_runs alter event_hashes set storage external, alter content set storage external;

create table artifacts (
  tenant text collate "C" not null,
  job_id text collate "C" not null,
  position integer not null,
  path text collate "C" not null,
  size_bytes bigint not null,
  sha256 text collate "C" not null,
  content bytea not null,
  primary key (tenant, job_id, position),
  foreign key (tenant, job_id) references jobs on delete cascade
);
alter table artifacts alter content set storage external;

create table receipts (
  tenant text collate "C" not null,
  job_id text collate "C" not null,
  receipt_json text collate "C" not null,
  receipt_sha256 text collate "C" not null,
  primary key (tenant, job_id),
  foreign key (tenant, job_id) references jobs on delete cascade
);

create table attestation_outbox (
  tenant text collate "C" not null,
  job_id text collate "C" not null,
  created_at text collate "C" not null,
  attempts bigint not null,
  due_at text collate "C",
  last_error text collate "C",
  last_error_at text collate "C",
  primary key (tenant, job_id),
  foreign key (tenant, job_id) references jobs on delete cascade
);
create index attestation_outbox_due on attestation_outbox (due_at);
create index attestation_outbox_errors on attestation_outbox (last_error_at) where last_error_at is not null;

create table attestations (
  tenant text collate "C" not null,
  job_id text collate "C" not null,
  key_id text collate "C" not null,
  receipt_sha256 text collate "C" not null,
  result_sha256 text collate "C" not null,
  result_size_bytes bigint not null,
  envelope_sha256 text collate "C" not null,
  envelope_size_bytes bigint not null,
  created_at text collate "C" not null,
  result_artifact bytea not null,
  envelope bytea not null,
  primary key (tenant, job_id),
  foreign key (tenant, job_id) references jobs on delete cascade
);
alter table attestations alter result_artifact set storage external, alter envelope set storage external;

create table idempotency_keys (
  tenant text collate "C" not null,
  idempotency_key text collate "C" not null,
  job_id text collate "C" not null,
  spec_sha256 text collate "C" not null,
  primary key (tenant, idempotency_key),
  foreign key (tenant, job_id) references jobs on delete cascade
);
create unique index idempotency_keys_by_job on idempotency_keys (tenant, job_id);

create table tenants (
  tenant text collate "C" primary key,
  queued bigint not null,
  running bigint not null,
  last_turn bigint not null
);
create index tenants_waiting on tenants (tenant) where queued > 0;
create index tenants_by_turn on tenants (last_turn);

create table credentials (
  credential_id text collate "C" primary key,
  tenant text collate "C" not null,
  principal text collate "C" not null,
  scopes text collate "C" not null,
  secret_sha256 text collate "C" not null,
  created_at text collate "C" not null,
  expires_at text collate "C",
  revoked_at text collate "C"
);
create index credentials_by_tenant on credentials (tenant, created_at, credential_id);

create table stream_tickets (
  tenant text collate "C" not null,
  ticket_sha256 text collate "C" not null,
  job_id text collate "C" not null,
  principal text collate "C" not null,
  auth_method text collate "C" not null,
  credential_id text collate "C" not null,
  scopes text collate "C" not null,
  authority_expires_at text collate "C",
  expires_at text collate "C" not null,
  primary key (tenant, ticket_sha256),
  foreign key (tenant, job_id) references jobs on delete cascade
);
create index stream_tickets_by_digest on stream_tickets (ticket_sha256);
create index stream_tickets_by_job on stream_tickets (tenant, job_id);
create index stream_tickets_by_end on stream_tickets (expires_at);

create table probes (
  probe_id integer primary key,
  count bigint not null
);

create table holders (
  holder_id integer primary key,
  turn bigint not null
);
insert into holders values (1, 0);
`;
