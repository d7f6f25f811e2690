/**
 * Tenants, credentials, tickets, links, labels and sessions. Labels are also in the row of their job. Here they are in list
 * order, with the status of an ended job. The index of labels by job has every column that the removal of a label needs; without
 * it, SQLite would read all of the tenant's labels. A session names its last step and the step that was accepted after that one.
 */
import { ofJob, referToJob } from './spelling.ts';

export const tenantTables = `
create table tenants (
  tenant {text} not null primary key,
  queued {long} not null,
  running {long} not null,
  last_turn {long} not null,
  accepted {long} not null default 0
){small};
create index tenants_waiting on tenants (tenant) where queued > 0;
create index tenants_by_turn on tenants (last_turn);

create table credentials (
  credential_id {text} not null primary key,
  tenant {text} not null,
  principal {text} not null,
  scopes {text} not null,
  secret_sha256 {text} not null,
  created_at {text} not null,
  expires_at {text},
  revoked_at {text}
){small};
create index credentials_by_tenant on credentials (tenant, created_at, credential_id);

create table stream_tickets (
  ${ofJob},
  ticket_sha256 {text} not null,
  principal {text} not null,
  auth_method {text} not null,
  credential_id {text} not null,
  scopes {text} not null,
  authority_expires_at {text},
  expires_at {text} not null,
  primary key ({ticketKey}),
  ${referToJob}
){small};
create index stream_tickets_by_job on stream_tickets (tenant, job_id);
create index stream_tickets_by_end on stream_tickets (expires_at);

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

create table job_labels (
  tenant {text} not null,
  label {text} not null,
  created_at {text} not null,
  job_id {text} not null,
  ended {text},
  primary key (tenant, label, created_at, job_id),
  ${referToJob}
){small};
create index job_labels_by_end on job_labels (tenant, label, ended, created_at, job_id);
create index job_labels_by_job on job_labels (tenant, job_id, ended);

create table sessions (
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

create table probes (
  probe_id integer not null primary key,
  count {long} not null
){large};
`;
