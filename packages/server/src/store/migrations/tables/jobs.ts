/**
 * Jobs: their rows and submissions, the queue, events and output, receipts and attestations.
 *
 * Rows from older stores have no salt, no number and no first line. A job's row in the queue says whether the job belongs to a
 * grading, because such jobs are counted differently. `also` has the members that the signed statement has beside the receipt.
 */
import { ofJob, onePerJob, referToJob } from './spelling.ts';

export const jobTables = `
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
  tenant_number {long},
  labels {text},
  first_line {text},
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
  is_test integer not null default 0,
  ${onePerJob}
){small};
create index queue_by_time on queue (tenant, created_at, job_id);
create index queue_tests on queue (tenant) where is_test = 1;

create table job_specs (
  ${ofJob},
  execution {text},
  evidence {text},
  principal {text},
  requested_spec {text} not null,
  ${onePerJob}
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
create index artifacts_by_digest on artifacts (tenant, sha256, job_id);
create index artifacts_large on artifacts (length(content)) where length(content) >= 65536;

create table receipts (
  ${ofJob},
  receipt_sha256 {text} not null,
  salt {text},
  also {text},
  receipt_json {text} not null,
  ${onePerJob}
){large};

create table attestation_outbox (
  ${ofJob},
  created_at {text} not null,
  attempts {long} not null,
  due_at {text},
  last_error {text},
  last_error_at {text},
  ${onePerJob}
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
  ${onePerJob}
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

create table job_tools (
  ${ofJob},
  answered_by {text} not null,
  result_schemas {text},
  call_bytes {long} not null,
  bytes_left {long} not null,
  ${onePerJob}
){small};

create table tool_calls (
  ${ofJob},
  seq {long} not null,
  call {long} not null,
  answer_seq {long},
  primary key (tenant, job_id, seq),
  ${referToJob}
){small};
create index tool_calls_by_answer on tool_calls (tenant, job_id, answer_seq);
`;
