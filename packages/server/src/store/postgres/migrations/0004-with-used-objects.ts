/** Adds what is known of contents that lie in an object store, and finds the large contents that are here. */
export const addUsedObjects = `
create table objects (
  tenant text collate "C" not null,
  object_id text collate "C" not null,
  sha256 text collate "C" not null,
  size_bytes bigint not null,
  state text collate "C" not null,
  changed_at text collate "C" not null,
  primary key (tenant, object_id)
);
create index objects_by_digest on objects (tenant, sha256, state);
create index objects_by_state on objects (state, changed_at) where state <> 'stored';

create table object_uses (
  tenant text collate "C" not null,
  job_id text collate "C" not null,
  position integer not null,
  object_id text collate "C" not null,
  primary key (tenant, job_id, position),
  foreign key (tenant, job_id) references jobs on delete cascade,
  foreign key (tenant, object_id) references objects
);
create index object_uses_by_object on object_uses (tenant, object_id);

create index artifacts_large on artifacts (length(content)) where length(content) >= 65536;
create index attestations_large on attestations (length(result_artifact)) where length(result_artifact) >= 65536;
`;
