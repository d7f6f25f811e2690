/** What a tool says about a job: members for a program that reads it, and the same as text for a model. */
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ServiceClient } from '@vouchbox/client';
import {
  type FoldedResult,
  JOB_STATUSES,
  type JobDetail,
  Nullable,
  type Static,
  TERMINAL_STATUSES,
  Type,
} from '@vouchbox/protocol';
import { artifactContent, listedFiles } from './artifacts.ts';
import { cutText } from './cut-text.ts';

const ListedFileSchema = Type.Object({
  path: Type.String(),
  size_bytes: Type.Integer(),
  sha256: Type.String(),
  media_type: Type.String(),
});

const ViolationSchema = Type.Object({
  type: Type.String(),
  message: Type.String(),
  path: Type.Optional(Type.String()),
});

/** The structured answer about a job. What nobody observed is null, as in the service's own answers. */
export const JobAnswer = Type.Object({
  job_id: Type.String(),
  status: Type.Enum([...JOB_STATUSES]),
  terminal_reason: Nullable(Type.String()),
  exit_code: Nullable(Type.Integer()),
  signal: Nullable(Type.String()),
  stdout: Type.String({ description: 'Cut in its middle if stdout_left_out is not 0.' }),
  stderr: Type.String({ description: 'Cut in its middle if stderr_left_out is not 0.' }),
  stdout_left_out: Type.Integer({ description: 'Characters that this answer leaves out.' }),
  stderr_left_out: Type.Integer({ description: 'Characters that this answer leaves out.' }),
  truncated: Type.Boolean({ description: 'Whether the service itself recorded only the beginning of the output.' }),
  violations: Type.Array(ViolationSchema),
  files: Type.Array(ListedFileSchema),
  isolation_class: Nullable(Type.String({ description: 'As observed of the cell that ran the program.' })),
  networking: Nullable(Type.String()),
  duration_ms: Nullable(Type.Integer()),
  receipt_sha256: Nullable(Type.String()),
});
export type JobAnswer = Static<typeof JobAnswer>;

/**
 * Reads a job and describes it. A job whose program never ran is an error; a program that failed is a result.
 * @param read its result, if the caller has it already
 */
export async function jobAnswer(
  client: ServiceClient,
  job_id: string,
  signal: AbortSignal,
  read?: FoldedResult,
): Promise<CallToolResult> {
  const [detail, result] = await Promise.all([
    client.detail(job_id, { signal }),
    read ?? client.result(job_id, { signal }),
  ]);
  const answer = answerOf(detail, result);
  return {
    structuredContent: { ...answer },
    content: [{ type: 'text', text: asText(answer) }, ...artifactContent(job_id, result.artifacts)],
    ...(detail.status === 'error' && { isError: true }),
  };
}

function answerOf(detail: JobDetail, result: FoldedResult): JobAnswer {
  const [stdout, stderr] = [cutText(result.stdout), cutText(result.stderr)];
  return {
    job_id: detail.job_id,
    status: detail.status,
    terminal_reason: detail.terminal_reason,
    exit_code: detail.exit_code,
    signal: detail.signal,
    stdout: stdout.text,
    stderr: stderr.text,
    stdout_left_out: stdout.leftOut,
    stderr_left_out: stderr.leftOut,
    truncated: result.truncated,
    violations: result.violations.map(({ type, message, path }) => ({
      type,
      message,
      ...(path !== undefined && { path }),
    })),
    files: listedFiles(result.artifacts),
    isolation_class: detail.effective_spec?.isolation_class ?? null,
    networking: detail.networking,
    duration_ms: detail.duration_ms,
    receipt_sha256: detail.receipt_sha256 ?? null,
  };
}

const isTerminal = (status: string) => (TERMINAL_STATUSES as readonly string[]).includes(status);

/** The same in lines. The output comes last, under its name. */
function asText(answer: JobAnswer): string {
  const lines = [headline(answer), ...answer.violations.map(({ type, message }) => `${type}: ${message}`)];
  if (answer.truncated)
    lines.push('The service recorded only the beginning of the output: the program wrote too much.');
  if (answer.files.length > 0) lines.push(`files: ${answer.files.map(({ path }) => path).join(', ')}`);
  if (answer.stdout !== '') lines.push('stdout:', answer.stdout);
  if (answer.stderr !== '') lines.push('stderr:', answer.stderr);
  return lines.join('\n');
}

function headline({ job_id, status, terminal_reason, exit_code, signal, duration_ms }: JobAnswer): string {
  if (!isTerminal(status)) return `${job_id} is ${status}.`;
  const ending = [
    terminal_reason === null || terminal_reason === 'exited' ? null : terminal_reason,
    exit_code === null ? null : `exit code ${exit_code}`,
    signal,
    duration_ms === null ? null : `${duration_ms} ms`,
  ].filter((part) => part !== null);
  return `${job_id} ${status}: ${ending.join(', ')}`;
}
