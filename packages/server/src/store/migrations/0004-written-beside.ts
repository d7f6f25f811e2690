/** The members of the signed statement about a job beside its receipt. Older rows say nothing. */
export const writtenBeside = `alter table receipts add column also {text};
`;
