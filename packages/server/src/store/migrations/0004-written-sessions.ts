/** Sessions of principals: the step at which each session stands, and the step that was accepted after it. */
export const sessions = `create table sessions (
  tenant {text} not null,
  principal {text} not null,
  name {text} not null,
  language {text} not null,
  last_job {text},
  next_job {text} not null,
  created_at {text} not null,
  changed_at {text} not null,
  primary key (tenant, principal, name),
  foreign key (tenant, next_job) references jobs (tenant, job_id) on delete cascade
){small};
create index sessions_by_job on sessions (tenant, next_job);
`;
