/** The tables of jobs whose programs may call tools: see `schema.ts`. */

/** A job whose program may call tools. */
export interface JobToolsTable {
  tenant: string;
  job_id: string;
  /** The principals that may answer: a JSON array. */
  answered_by: string;
  /** Schemas of results by the names of their tools: a JSON object; null if no tool has one. */
  result_schemas: string | null;
  /** The most bytes of one answer, and how many all that will come may have. */
  call_bytes: number;
  bytes_left: number;
}

/** A call that can be answered, by the number of its event; and that of its answer, null while there is none. */
export interface ToolCallTable {
  tenant: string;
  job_id: string;
  seq: number;
  /** The program's own number of it. */
  call: number;
  answer_seq: number | null;
}
