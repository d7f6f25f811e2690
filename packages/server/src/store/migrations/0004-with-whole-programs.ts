/** Builds by a digest of their inputs, so that none is made twice. A job that is a build may belong to several gradings. */
import { referToJob } from './0004-tables.ts';

export const builds = `create table builds (
  tenant {text} not null,
  build_sha256 {text} not null,
  job_id {text} not null,
  primary key (tenant, build_sha256),
  ${referToJob}
){small};
create unique index builds_by_job on builds (tenant, job_id);
drop index grading_jobs_by_job;
create index grading_jobs_by_job on grading_jobs (tenant, job_id);
`;
