/** Values that are kept only for the statement about a job. Jobs of earlier versions have neither a salt nor a number. */
import type { Spelling } from './0004-tables.ts';

export function statementsIn({ text, long }: Pick<Spelling, 'text' | 'long'>): string {
  return `alter table receipts add column salt ${text};
alter table jobs add column tenant_number ${long};
alter table tenants add column accepted ${long} not null default 0;
`;
}
