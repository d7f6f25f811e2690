/** Adds the files that are uploaded before the jobs that name them. */
export const addUploads = `
create table blobs (
  tenant text collate "C" not null,
  blob_id text collate "C" not null,
  sha256 text collate "C" not null,
  size_bytes bigint not null,
  is_whole integer not null,
  used_at text collate "C" not null,
  primary key (tenant, blob_id)
);
create unique index blobs_by_digest on blobs (tenant, sha256) where is_whole = 1;
create index blobs_by_use on blobs (used_at);

create table blob_pieces (
  tenant text collate "C" not null,
  blob_id text collate "C" not null,
  position integer not null,
  content bytea not null,
  primary key (tenant, blob_id, position),
  foreign key (tenant, blob_id) references blobs on delete cascade
);
alter table blob_pieces alter content set storage external;

create table job_blobs (
  tenant text collate "C" not null,
  job_id text collate "C" not null,
  blob_id text collate "C" not null,
  primary key (tenant, job_id, blob_id),
  foreign key (tenant, job_id) references jobs on delete cascade,
  foreign key (tenant, blob_id) references blobs on delete cascade
);
create index job_blobs_by_blob on job_blobs (tenant, blob_id);
`;
