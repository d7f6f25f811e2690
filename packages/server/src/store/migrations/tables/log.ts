/**
 * The log, and the promises of jobs.
 *
 * The rows of the tree's hashes name no tenant or job and refer to none, because retention removes jobs but never a leaf. A row
 * of level 0 is a leaf; a row of level 1 stands for 256 leaves, a row of level 2 for 65,536, and so on.
 *
 * A promise is due until the store knows that the log has the promised answer. A job's pending statements are numbered from 1,
 * and have places in the log, like statements about results.
 */
import { ofJob, onePerJob, referToJob } from './spelling.ts';

export const logTables = `
create table log_state (
  state_id integer not null primary key,
  host {text} not null,
  tree {long} not null,
  log_key {text} not null,
  size {long} not null,
  signed_size {long} not null,
  checkpoint {text},
  rekor_head {text},
  opening {bytes} not null
){large};

create table log_hashes (
  level integer not null,
  position {long} not null,
  hash {bytes} not null,
  primary key (level, position)
){small};
create index log_hashes_by_leaf on log_hashes (hash) where level = 0;

create table log_entries (
  ${ofJob},
  leaf_hash {bytes} not null,
  position {long},
  ${onePerJob}
){small};
create index log_entries_waiting on log_entries (job_id) where position is null;

create table job_promises (
  ${ofJob},
  answer_by {text} not null,
  due_at {text},
  key_id {text},
  envelope {bytes},
  ${onePerJob}
){large};
create index job_promises_unsigned on job_promises (job_id) where envelope is null;
create index job_promises_due on job_promises (due_at) where due_at is not null;

create table log_pending (
  ${ofJob},
  statement {long} not null,
  stated_at {text} not null,
  answer_by {text} not null,
  salt {text} not null,
  key_id {text},
  leaf_hash {bytes},
  position {long},
  envelope {bytes},
  primary key (tenant, job_id, statement),
  ${referToJob}
){large};
create index log_pending_unsigned on log_pending (stated_at) where envelope is null;
create index log_pending_waiting on log_pending (stated_at) where position is null and leaf_hash is not null;
`;
