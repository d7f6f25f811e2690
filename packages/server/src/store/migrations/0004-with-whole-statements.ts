/** Values that are kept only for the statement about a job. Jobs of earlier versions have neither a salt nor a number. */
export const statements = `alter table receipts add column salt {text};
alter table jobs add column tenant_number {long};
alter table tenants add column accepted {long} not null default 0;
`;
