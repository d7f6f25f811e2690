/**
 * The store of v0.1: jobs and their events, without any digest. An upgrade begins with this schema, and the later migrations
 * convert its rows; a new store takes this step with empty tables.
 */
export const schemaOfV01 = `
create table jobs (
  job_id text not null primary key,
  tenant text not null,
  status text not null,
  language text not null,
  code text not null,
  stdin text,
  limits text not null check (json_valid(limits)),
  created_at text not null,
  started_at text,
  finished_at text,
  exit_code integer,
  check (status in ('queued', 'running') or finished_at is not null)
) strict;

create table events (
  job_id text not null references jobs (job_id),
  seq integer not null,
  timestamp text not null,
  kind text not null,
  data text not null,
  primary key (job_id, seq)
) strict, without rowid;
`;
