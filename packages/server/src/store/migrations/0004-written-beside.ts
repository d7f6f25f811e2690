/** The members of the signed statement about a job beside its receipt. Older rows say nothing. */
import type { Spelling } from './0004-tables.ts';

export function writtenBesideIn({ text }: Pick<Spelling, 'text'>): string {
  return `alter table receipts add column also ${text};
`;
}
