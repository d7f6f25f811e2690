/** Labels of jobs: in the job's own row, for lists, and in rows of their own in the order of a list, for a filter. */
import { referToJob } from './0004-tables.ts';

export const labels = `alter table jobs add column labels {text};
create table job_labels (
  tenant {text} not null,
  label {text} not null,
  created_at {text} not null,
  job_id {text} not null,
  primary key (tenant, label, created_at, job_id),
  ${referToJob}
){small};
create index job_labels_by_job on job_labels (tenant, job_id);
`;
