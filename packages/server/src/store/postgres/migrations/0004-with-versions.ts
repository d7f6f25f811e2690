/**
 * Lets two adjacent versions of the service share a store. The store says how far its schema has come, and which is the
 * oldest code that may use it. A node says which schemas it can use: nodes that started before this step know the four
 * steps before it. A row of `backfills` is the progress of a step that moves rows.
 */
export const addVersions = `
create table schema_state (
  state_id integer primary key,
  version integer not null,
  oldest_code integer not null
);
insert into schema_state values (1, 4, 4);

alter table nodes add column schema_needs integer not null default 4, add column schema_knows integer not null default 4;

create table backfills (
  name text collate "C" primary key,
  position text collate "C",
  rows_done bigint not null,
  is_last_pass integer not null
);
`;
