/** Builds by what they were made of, so that none is made twice. More than one grading may have a job, if it is a build. */
import type { Spelling } from './0004-tables.ts';

export function buildsIn({ text, small }: Pick<Spelling, 'text' | 'small'>): string {
  return `create table builds (
  tenant ${text} not null,
  build_sha256 ${text} not null,
  job_id ${text} not null,
  primary key (tenant, build_sha256),
  foreign key (tenant, job_id) references jobs (tenant, job_id) on delete cascade
)${small};
create unique index builds_by_job on builds (tenant, job_id);
drop index grading_jobs_by_job;
create index grading_jobs_by_job on grading_jobs (tenant, job_id);
`;
}
