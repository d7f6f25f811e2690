/** The tables of jobs whose programs may call tools, and of sessions: see `schema.ts`. */
import type { Language } from '@vouchbox/protocol';

/** A job whose program may call tools. */
export interface JobToolsTable {
  tenant: string;
  job_id: string;
  /** The principals that may answer: a JSON array. */
  answered_by: string;
  /** Schemas of results, keyed by tool name: a JSON object; null if no tool has a schema. */
  result_schemas: string | null;
  /** The most bytes of one answer, and of all answers still to come. */
  call_bytes: number;
  bytes_left: number;
}

/** A call that can be answered. `seq` is the number of its event; `answer_seq` is that of its answer, or null. */
export interface ToolCallTable {
  tenant: string;
  job_id: string;
  seq: number;
  /** The number that the program gave the call. */
  call: number;
  answer_seq: number | null;
}

/** A principal's session. */
export interface SessionTable {
  tenant: string;
  principal: string;
  name: string;
  language: Language;
  /** The last step that moved the session before `next_job` was accepted; null if there was none. */
  last_job: string | null;
  /** The step that was accepted last. It has moved the session if it succeeded and left a state. */
  next_job: string;
  created_at: string;
  changed_at: string;
}
