/** What a tool says about a job: members for a program that reads it, and the same as text for a model. */
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Capabilities, LimitsInput, ServiceClient } from '@vouchbox/client';
import {
  EffectiveLimitsSchema,
  type FoldedResult,
  JOB_STATUSES,
  type JobDetail,
  Nullable,
  type Static,
  TERMINAL_STATUSES,
  Type,
} from '@vouchbox/protocol';
import { missingModule, missingModuleRemark } from '../missing-module.ts';
import { clampedRemarks } from '../terminal/remarks.ts';
import { artifactContent, listedFiles } from './artifacts.ts';
import { cutText, told, toldStream } from './told-text.ts';

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
  limit: Type.Optional(Type.Number()),
  phase: Type.Optional(Type.String({ description: 'Present if the compiler broke it.' })),
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
  remarks: Type.Array(Type.String({ description: 'What else to know, such as a limit that was lowered.' })),
  effective_limits: Nullable(EffectiveLimitsSchema),
  files: Type.Array(ListedFileSchema),
  isolation_class: Nullable(Type.String({ description: 'As observed of the cell that ran the program.' })),
  networking: Nullable(Type.String()),
  duration_ms: Nullable(Type.Integer()),
  receipt_sha256: Nullable(Type.String()),
});
export type JobAnswer = Static<typeof JobAnswer>;

export interface AnswerOptions {
  readonly signal: AbortSignal;
  /** The result of the job, if the caller has it already. */
  readonly read?: FoldedResult;
  /** The limits that were asked for. */
  readonly asked?: LimitsInput;
}

/**
 * Reads a job and describes it. A job whose program never ran is an error; a program that failed is a result.
 */
export async function jobAnswer(
  client: ServiceClient,
  job_id: string,
  { signal, read, asked = {} }: AnswerOptions,
): Promise<CallToolResult> {
  const [detail, result] = await Promise.all([
    client.detail(job_id, { signal }),
    read ?? client.result(job_id, { signal }),
  ]);
  const answer = answerOf(detail, result, asked);
  const missing = missingModule(result.stderr);
  if (missing !== null) answer.remarks.push(missingModuleRemark(missing, await packsOf(client, signal), 'runtime'));
  return {
    structuredContent: { ...answer },
    content: [{ type: 'text', text: asText(answer) }, ...artifactContent(job_id, result)],
    ...(detail.status === 'error' && { isError: true }),
  };
}

/** The packs of the service; none where it does not tell them to this caller. */
async function packsOf(client: ServiceClient, signal: AbortSignal): Promise<Capabilities['runtime_packs']> {
  return await client.capabilities({ signal }).then(
    ({ runtime_packs }) => runtime_packs,
    () => [],
  );
}

function answerOf(detail: JobDetail, result: FoldedResult, asked: LimitsInput): JobAnswer {
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
    violations: result.violations.map(({ type, message, path, limit, phase }) => ({
      type,
      message,
      ...(path !== undefined && { path }),
      ...(limit !== undefined && { limit }),
      ...(phase !== undefined && { phase }),
    })),
    effective_limits: detail.effective_spec?.limits ?? null,
    remarks: clampedRemarks(asked, detail.effective_spec?.limits ?? {}).map(([name, remark]) => `${name}: ${remark}`),
    files: listedFiles(result),
    isolation_class: detail.effective_spec?.isolation_class ?? null,
    networking: detail.networking,
    duration_ms: detail.duration_ms,
    receipt_sha256: detail.receipt_sha256 ?? null,
  };
}

const isTerminal = (status: string) => (TERMINAL_STATUSES as readonly string[]).includes(status);

/** The answer in lines. The output comes last, and apart: only the lines before it are the tool's words. */
function asText(answer: JobAnswer): string {
  const lines = [headline(answer), ...answer.violations.map(violationLine), ...answer.remarks.map(told)];
  if (answer.truncated)
    lines.push('The service recorded only the beginning of the output: the program wrote too much.');
  if (answer.files.length > 0) lines.push(`files: ${answer.files.map(({ path }) => told(path)).join(', ')}`);
  lines.push(toldStream('stdout', answer.stdout, answer.stdout_left_out));
  lines.push(toldStream('stderr', answer.stderr, answer.stderr_left_out));
  return lines.filter((line) => line !== '').join('\n');
}

/** The argument by which a model raises a limit. */
const ARGUMENTS: Readonly<Record<string, string>> = { wall_time: 'timeout_seconds', memory: 'memory_mb' };

function violationLine({ type, message, limit, phase }: JobAnswer['violations'][number]): string {
  const argument = phase === undefined ? ARGUMENTS[type] : undefined;
  const bound = limit === undefined || message.includes(String(limit)) ? '' : ` (limit ${limit})`;
  const advice = argument === undefined ? '' : `; give ${argument} to change the limit, as far as list_runtimes allows`;
  return `${told(type)}: ${told(message)}${bound}${advice}`;
}

function headline({ job_id, status, terminal_reason, exit_code, signal, duration_ms }: JobAnswer): string {
  if (!isTerminal(status)) return `${job_id} is ${told(status)}.`;
  const ending = [
    terminal_reason === null || terminal_reason === 'exited' ? null : told(terminal_reason),
    exit_code === null ? null : `exit code ${exit_code}`,
    signal === null ? null : told(signal),
    duration_ms === null ? null : `${duration_ms} ms`,
  ].filter((part) => part !== null);
  return `${job_id} ${status}: ${ending.join(', ')}`;
}
