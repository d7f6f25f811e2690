/**
 * Uploads, outputs that are returned by their digests, and objects in an object store. The bytes of such outputs are blobs. A
 * blob is kept as long as one of these outputs is.
 */
import { ofJob, referToJob } from './spelling.ts';

export const byteTables = `
create table blobs (
  tenant {text} not null,
  blob_id {text} not null,
  sha256 {text} not null,
  size_bytes {long} not null,
  is_whole integer not null,
  used_at {text} not null,
  primary key (tenant, blob_id)
){small};
create unique index blobs_by_digest on blobs (tenant, sha256) where is_whole = 1;
create index blobs_by_use on blobs (used_at);

create table blob_pieces (
  tenant {text} not null,
  blob_id {text} not null,
  position integer not null,
  content {bytes} not null,
  primary key (tenant, blob_id, position),
  foreign key (tenant, blob_id) references blobs (tenant, blob_id) on delete cascade
){large};

create table job_blobs (
  ${ofJob},
  blob_id {text} not null,
  primary key (tenant, job_id, blob_id),
  ${referToJob},
  foreign key (tenant, blob_id) references blobs (tenant, blob_id) on delete cascade
){small};
create index job_blobs_by_blob on job_blobs (tenant, blob_id);

create table large_outputs (
  ${ofJob},
  position integer not null,
  path {text} not null,
  size_bytes {long} not null,
  sha256 {text} not null,
  blob_id {text} not null,
  primary key (tenant, job_id, position),
  ${referToJob},
  foreign key (tenant, blob_id) references blobs (tenant, blob_id)
){large};
create index large_outputs_by_blob on large_outputs (tenant, blob_id);
create index large_outputs_by_digest on large_outputs (tenant, sha256, job_id);

create table objects (
  tenant {text} not null,
  object_id {text} not null,
  sha256 {text} not null,
  size_bytes {long} not null,
  state {text} not null,
  changed_at {text} not null,
  primary key (tenant, object_id)
){small};
create index objects_by_digest on objects (tenant, sha256, state);
create index objects_by_state on objects (state, changed_at) where state <> 'stored';

create table object_uses (
  ${ofJob},
  position integer not null,
  object_id {text} not null,
  primary key (tenant, job_id, position),
  ${referToJob},
  foreign key (tenant, object_id) references objects (tenant, object_id)
){small};
create index object_uses_by_object on object_uses (tenant, object_id);
`;
