/** Moves what was observed of a job into the row of its submission: both are read together. */
export const moveExecutions = `
alter table job_specs add column execution text collate "C";
update job_specs set execution = observed.execution from job_executions as observed
where observed.tenant = job_specs.tenant and observed.job_id = job_specs.job_id;
drop table job_executions;
`;
