/** The log: its state, the hashes of its tree, and the place of each job's signed statement in it. */
import { ofJob, referToJob } from './0004-tables.ts';

/**
 * The hashes name no tenant and no job, and refer to none, because retention removes jobs but no leaf. A row of level 0 is a
 * leaf; a row of level 1 stands for 256 leaves, one of level 2 for 65,536, and so on.
 */
export const logTables = `create table log_state (
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
  primary key (tenant, job_id),
  ${referToJob}
){small};
create index log_entries_waiting on log_entries (job_id) where position is null;
`;
