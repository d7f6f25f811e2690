/**
 * Adds the number of the last change of each node. Each transaction writes it, so that a node whose connection was lost
 * at a commit can tell whether it was stored.
 */
export const addNodeChanges = `
create table node_changes (
  node bigint primary key references nodes on delete cascade,
  number bigint not null
) with (fillfactor = 10);
`;
