/** Links to results of jobs, and who submitted each job: only that principal may make a link to the job. */
import { ofJob, referToJob } from './0004-tables.ts';

export const links = `alter table job_specs add column principal {text};
create table job_links (
  ${ofJob},
  link_id {text} not null,
  secret_sha256 {text} not null,
  shows {text} not null,
  principal {text} not null,
  auth_method {text} not null,
  credential_id {text} not null,
  scopes {text} not null,
  authority_expires_at {text},
  created_at {text} not null,
  expires_at {text} not null,
  primary key (tenant, job_id, link_id),
  ${referToJob}
){small};
create index job_links_by_id on job_links (link_id);
create index job_links_by_credential on job_links (credential_id);
create index job_links_by_end on job_links (expires_at);
`;
