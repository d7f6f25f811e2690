/** Labels of jobs: beside the job, for lists, and by themselves in the order of a list, for a filter. */
import type { Spelling } from './0004-tables.ts';

export function labelsIn({ text, small }: Spelling): string {
  return `alter table jobs add column labels ${text};
create table job_labels (
  tenant ${text} not null,
  label ${text} not null,
  created_at ${text} not null,
  job_id ${text} not null,
  primary key (tenant, label, created_at, job_id),
  foreign key (tenant, job_id) references jobs (tenant, job_id) on delete cascade
)${small};
create index job_labels_by_job on job_labels (tenant, job_id);
`;
}
