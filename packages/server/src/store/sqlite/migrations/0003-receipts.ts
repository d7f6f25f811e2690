/**
 * The store of v0.3. Events carry the digests of their chain, and jobs that end get a receipt. Attestations are kept once they
 * are made; the earliest ones did not name their job. Rows from v0.1 stay as they were: their events have hash version 0 and
 * prove nothing, and an ended job has no receipt. Spec § Events 7, § Versioning 3.
 */
export const schemaOfV03 = `
alter table jobs add column runtime text;
alter table jobs add column files text;
alter table jobs add column outputs text;
alter table jobs add column requirements text;
alter table jobs add column signal text;
alter table jobs add column terminal_reason text;
alter table jobs add column duration_ms integer;
alter table jobs add column cancellation_requested integer not null default 0;
alter table jobs add column truncated integer not null default 0;
update jobs set cancellation_requested = status = 'cancelled', truncated = exists (
  select * from events where events.job_id = jobs.job_id and events.kind = 'truncated');

alter table events add column hash_version integer not null default 0;
alter table events add column prev_hash text;
alter table events add column event_hash text;

create table receipts (
  job_id text not null primary key references jobs (job_id),
  receipt_json text not null,
  receipt_sha256 text not null
) strict;

create table attestations (
  job_id text not null primary key references jobs (job_id),
  key_id text not null,
  tenant text,
  receipt_sha256 text,
  result_sha256 text,
  envelope_sha256 text,
  created_at text not null,
  result_artifact blob not null,
  envelope blob not null
) strict;

create table artifacts (
  job_id text not null references jobs (job_id),
  position integer not null,
  path text not null,
  size_bytes integer not null,
  sha256 text not null,
  content blob not null,
  primary key (job_id, position)
) strict;

create table idempotency_keys (
  tenant text not null,
  idempotency_key text not null,
  job_id text not null unique references jobs (job_id),
  spec_sha256 text not null,
  primary key (tenant, idempotency_key)
) strict, without rowid;
`;
