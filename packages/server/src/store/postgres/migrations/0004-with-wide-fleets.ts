/**
 * Columns that let a node read only changed nodes, and the table of dead nodes. `changed` has the number of the transaction
 * that changed its row last. Nodes of earlier code write none of this.
 */
export const wideFleets = `alter table nodes add column changed bigint;
alter table nodes add column slots_used integer;
alter table nodes add column taken bigint not null default 0;
create index nodes_by_change on nodes (changed);
create table gone_nodes (
  node bigint primary key,
  changed bigint not null,
  gone_at timestamptz not null
);
create index gone_nodes_by_change on gone_nodes (changed);
`;
