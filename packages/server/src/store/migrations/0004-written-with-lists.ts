/**
 * Columns that lists show and search: the first line of each program, and, in the row of each label, how the job ended. Both are
 * null in rows that older code wrote. The status is also null until the job has ended.
 *
 * The index by job has every column that the removal of a label needs. Without it, SQLite would read all labels of the tenant
 * when a job is removed. No earlier release has labels, so their indexes are made on an empty table.
 */
export const lists = `alter table jobs add column first_line {text};
alter table job_labels add column ended {text};
create index job_labels_by_end on job_labels (tenant, label, ended, created_at, job_id);
drop index job_labels_by_job;
create index job_labels_by_job on job_labels (tenant, job_id, ended);
`;
