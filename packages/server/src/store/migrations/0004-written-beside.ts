/** The members of the signed statement about a job beside its receipt. The column is null in older rows. */
export const writtenBeside = `alter table receipts add column also {text};
`;
