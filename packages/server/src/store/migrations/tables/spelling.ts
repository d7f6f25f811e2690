/** The parts that the two kinds of store spell differently in the statements that create tables. */
export interface Spelling {
  /** The type of a text, which is compared by its bytes. */
  readonly text: string;
  /** The type of a 64-bit integer. */
  readonly long: string;
  readonly bytes: string;
  /** The end of `create table` if the rows are small. Small rows are stored in the order of their key. */
  readonly small: string;
  /** The end of `create table` if the last column may be large. */
  readonly large: string;
  /** The primary key of tickets. */
  readonly ticketKey: string;
}

/** The key of a job, in every table about jobs. Rows that refer to a job by this key are removed with the job. */
export const ofJob = `tenant {text} not null,
  job_id {text} not null`;
export const referToJob = 'foreign key (tenant, job_id) references jobs (tenant, job_id) on delete cascade';
/** The end of a table that has at most one row per job. */
export const onePerJob = `primary key (tenant, job_id),
  ${referToJob}`;

/** Statements as one kind of store spells them. Each word in braces is the name of a member of the spelling. */
export function spelled(statements: string, spelling: Spelling): string {
  return statements.replaceAll(/\{(\w+)\}/g, (_, name: keyof Spelling) => spelling[name]);
}
