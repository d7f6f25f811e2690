/** The requests about a program's tool calls: one reads the open calls, the other answers a call. */
import type { ToolAnswer, ToolAnswerTaken, ToolCalls } from './contract-types.ts';
import type { CallOptions } from './job-options.ts';
import { read } from './operation.ts';
import type { Session } from './session.ts';

export interface ToolCallsOptions extends CallOptions {
  /** Only calls with a greater `seq`. */
  readonly after?: number;
  /** Seconds (0–300) that the service waits for a call. */
  readonly waitSeconds?: number;
}

export function openToolCalls(
  session: Session,
  job_id: string,
  { after, waitSeconds, signal }: ToolCallsOptions,
): Promise<ToolCalls> {
  const query = { after, wait_seconds: waitSeconds };
  return read(session, 'GET /v1/jobs/{id}/tool-calls', { job_id, query, signal });
}

/** Answers a call. Repeating an answer changes nothing, so the answer is sent again if the service's reply is lost. */
export function answerToolCall(
  session: Session,
  { job_id, seq, signal }: { readonly job_id: string; readonly seq: number } & CallOptions,
  body: ToolAnswer,
): Promise<ToolAnswerTaken> {
  return read(session, 'POST /v1/jobs/{id}/tool-calls/{seq}', { job_id, seq, body, signal });
}
