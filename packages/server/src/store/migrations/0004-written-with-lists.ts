/**
 * Columns that lists show and search: the first line of each program, and beside each label how its job ended. Both are null in
 * rows that older code wrote. The status is null until the job has ended, too.
 *
 * The index by job has all that the removal of a label needs. Otherwise SQLite reads all labels of the tenant when a job goes.
 * No release before this one has labels, so their indexes are made of an empty table.
 */
export const lists = `alter table jobs add column first_line {text};
alter table job_labels add column ended {text};
create index job_labels_by_end on job_labels (tenant, label, ended, created_at, job_id);
drop index job_labels_by_job;
create index job_labels_by_job on job_labels (tenant, job_id, ended);
`;
