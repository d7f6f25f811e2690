/**
 * Gradings: their programs and tests, each in its own row, the jobs made from them, and their events. Builds are found by a
 * digest of their inputs, so that none is made twice. A build job may belong to several gradings.
 */
import { referToJob } from './spelling.ts';

const ofGrading = `tenant {text} not null,
  grading_id {text} not null`;
const referToGrading = 'foreign key (tenant, grading_id) references gradings (tenant, grading_id) on delete cascade';

export const gradingTables = `
create table gradings (
  ${ofGrading},
  status {text} not null,
  principal {text} not null,
  created_at {text} not null,
  finished_at {text},
  cancellation_requested integer not null,
  programs {long} not null,
  tests {long} not null,
  runs_ended {long} not null,
  last_seq {long} not null,
  common {text} not null,
  primary key (tenant, grading_id)
){large};
create index gradings_by_time on gradings (tenant, created_at, grading_id);
create index gradings_running on gradings (tenant) where finished_at is null;
create index gradings_finished on gradings (finished_at) where finished_at is not null;

create table grading_keys (
  ${ofGrading},
  idempotency_key {text} not null,
  spec_sha256 {text} not null,
  primary key (tenant, idempotency_key),
  ${referToGrading}
){small};
create unique index grading_keys_by_grading on grading_keys (tenant, grading_id);

create table grading_programs (
  ${ofGrading},
  position {long} not null,
  status {text} not null,
  state {text} not null,
  content {text} not null,
  primary key (tenant, grading_id, position),
  ${referToGrading}
){large};

create table grading_tests (
  ${ofGrading},
  position {long} not null,
  head {text} not null,
  content {text} not null,
  primary key (tenant, grading_id, position),
  ${referToGrading}
){large};

create table grading_jobs (
  ${ofGrading},
  program {long} not null,
  name {text} not null,
  attempt {long} not null,
  job_id {text} not null,
  is_ended integer not null,
  primary key (tenant, grading_id, program, name, attempt),
  ${referToGrading}
){small};
create index grading_jobs_by_job on grading_jobs (tenant, job_id);

create table grading_events (
  ${ofGrading},
  seq {long} not null,
  timestamp {text} not null,
  kind {text} not null,
  data {text} not null,
  primary key (tenant, grading_id, seq),
  ${referToGrading}
){large};

create table grading_blobs (
  ${ofGrading},
  blob_id {text} not null,
  primary key (tenant, grading_id, blob_id),
  ${referToGrading},
  foreign key (tenant, blob_id) references blobs (tenant, blob_id) on delete cascade
){small};
create index grading_blobs_by_blob on grading_blobs (tenant, blob_id);

create table builds (
  tenant {text} not null,
  build_sha256 {text} not null,
  job_id {text} not null,
  primary key (tenant, build_sha256),
  ${referToJob}
){small};
create unique index builds_by_job on builds (tenant, job_id);
`;
