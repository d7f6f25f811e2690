/** Promises: what was promised of a job when it was accepted, and the statements of the log that the job waits. */
import { ofJob, referToJob } from './0004-tables.ts';

/**
 * A promise is due while the store does not know that its answer is in the log. Pending statements of a job are numbered from 1,
 * and have places in the log as the statements of results do.
 */
export const promiseTables = `create table job_promises (
  ${ofJob},
  answer_by {text} not null,
  due_at {text},
  key_id {text},
  envelope {bytes},
  primary key (tenant, job_id),
  ${referToJob}
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
