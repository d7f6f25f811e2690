/** A tool's answer about a job: members for a program to read, and the same as text for a model. */
import type { CallToolResult } from '@modelcontextprotocol/server';
import type {
  Capabilities,
  JobPromise,
  LimitsInput,
  ProgramSession,
  RunResult,
  ServiceClient,
  StepOutcome,
} from '@vouchbox/client';
import { sha256Hex } from '@vouchbox/evidence';
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
import { missingModule, missingModuleRemark } from '@vouchbox/protocol/vocabulary';
import { sessionRemarks } from '../run-session.ts';
import { clampedRemarks } from '../terminal/remarks.ts';
import { artifactContent, ListedFile, listedFiles } from './artifacts.ts';
import { cutText, told, toldStream } from './told-text.ts';

const ViolationSchema = Type.Object({
  type: Type.String(),
  message: Type.String(),
  path: Type.Optional(Type.String()),
  limit: Type.Optional(Type.Number()),
  phase: Type.Optional(Type.String({ description: 'Present if the compiler broke the limit.' })),
});

const StepSchema = Type.Object({
  name: Type.String(),
  moved: Type.Boolean({ description: 'Whether the next run in this session begins with the state of this one.' }),
  globals: Nullable(Type.Integer({ description: 'How many were kept. Remarks name those that were not.' })),
  files: Nullable(Type.Integer()),
});

const PromiseSchema = Type.Object({
  answer_by: Type.String({
    description: 'The time by which the log has the result, or a statement that the job waits.',
  }),
  log_origin: Type.String(),
  envelope: Type.String({ description: 'Keep these characters as they are: `service-verify promise` checks them.' }),
});

/** The structured answer about a job. A value that was not observed is null, as in the service's own answers. */
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
  remarks: Type.Array(Type.String({ description: 'Other remarks, such as a limit that was lowered.' })),
  effective_limits: Nullable(EffectiveLimitsSchema),
  files: Type.Array(ListedFile),
  isolation_class: Nullable(Type.String({ description: 'As observed of the cell that ran the program.' })),
  networking: Nullable(Type.String()),
  duration_ms: Nullable(Type.Integer()),
  receipt_sha256: Nullable(Type.String()),
  session: Type.Optional(StepSchema),
  promise: Type.Optional(PromiseSchema),
});
export type JobAnswer = Static<typeof JobAnswer>;

/** A job, with its status or the way it ended. */
export interface ToldJob
  extends FoldedResult,
    Pick<JobDetail, 'terminal_reason' | 'signal' | 'networking'>,
    Pick<RunResult, 'isolation_class' | 'effective_limits'> {
  readonly receipt_sha256: string | null;
  /** Present only if the run requested a promise. */
  readonly promise?: RunResult['promise'];
}

/** The outcome of a run. */
export function jobOfRun({ files, receipt, ...ran }: RunResult): ToldJob {
  const artifacts = [...files].map(([path, bytes]) => ({
    path,
    size_bytes: bytes.length,
    sha256: sha256Hex(bytes),
    content_base64: Buffer.from(bytes).toString('base64'),
  }));
  return { ...ran, artifacts, networking: receipt.networking ?? null };
}

export async function readJob(client: ServiceClient, job_id: string, signal: AbortSignal): Promise<ToldJob> {
  const [detail, result] = await Promise.all([client.detail(job_id, { signal }), client.result(job_id, { signal })]);
  const { terminal_reason, signal: endedBy, networking, receipt_sha256 = null, effective_spec } = detail;
  const { limits: effective_limits = null, isolation_class = null } = effective_spec ?? {};
  return { ...result, terminal_reason, signal: endedBy, networking, receipt_sha256, effective_limits, isolation_class };
}

export interface AnswerOptions {
  readonly signal: AbortSignal;
  /** The limits that were asked for. */
  readonly asked?: LimitsInput;
  /** The session in which the job was a step. */
  readonly step?: { readonly session: ProgramSession; readonly outcome: StepOutcome };
}

/** Describes a job. A job whose program never ran is an error; a program that failed is a result. */
export async function jobAnswer(
  client: ServiceClient,
  job: ToldJob,
  { signal, asked = {}, step }: AnswerOptions,
): Promise<CallToolResult> {
  const answer = answerOf(job, asked);
  if (step !== undefined) addStep(answer, step);
  const missing = missingModule(job.stderr);
  if (missing !== null) answer.remarks.push(missingModuleRemark(missing, await packsOf(client, signal), 'runtime'));
  return {
    structuredContent: { ...answer },
    content: [{ type: 'text', text: asText(answer) }, ...artifactContent(job.job_id, job)],
    ...(job.status === 'error' && { isError: true }),
  };
}

function addStep(answer: JobAnswer, { session, outcome }: NonNullable<AnswerOptions['step']>): void {
  const { moved, kept } = outcome;
  const { globals = null, files = null } = (moved ? kept : null) ?? {};
  answer.session = { name: session.name, moved, globals, files };
  answer.remarks.push(...sessionRemarks(session, outcome));
}

/** The service's packs; an empty list if the service does not tell this caller. */
export async function packsOf(client: ServiceClient, signal: AbortSignal): Promise<Capabilities['runtime_packs']> {
  return await client.capabilities({ signal }).then(
    ({ runtime_packs }) => runtime_packs,
    () => [],
  );
}

function answerOf(job: ToldJob, asked: LimitsInput): JobAnswer {
  const [stdout, stderr] = [cutText(job.stdout), cutText(job.stderr)];
  return {
    job_id: job.job_id,
    status: job.status,
    terminal_reason: job.terminal_reason,
    exit_code: job.exit_code,
    signal: job.signal,
    stdout: stdout.text,
    stderr: stderr.text,
    stdout_left_out: stdout.leftOut,
    stderr_left_out: stderr.leftOut,
    truncated: job.truncated,
    violations: job.violations.map(({ type, message, path, limit, phase }) => ({
      type,
      message,
      ...(path !== undefined && { path }),
      ...(limit !== undefined && { limit }),
      ...(phase !== undefined && { phase }),
    })),
    effective_limits: job.effective_limits,
    remarks: clampedRemarks(asked, job.effective_limits ?? {}).map(([name, remark]) => `${name}: ${remark}`),
    files: listedFiles(job),
    isolation_class: job.isolation_class,
    networking: job.networking,
    duration_ms: job.duration_ms,
    receipt_sha256: job.receipt_sha256,
    ...(job.promise != null && { promise: promiseOf(job.promise) }),
  };
}

function promiseOf({ answer_by, log_origin, bytes }: JobPromise): Static<typeof PromiseSchema> {
  return { answer_by, log_origin, envelope: new TextDecoder().decode(bytes) };
}

const isTerminal = (status: string) => (TERMINAL_STATUSES as readonly string[]).includes(status);

/** The answer in lines. The program's output comes last and is marked, so that it cannot pass for the tool's own words. */
function asText(answer: JobAnswer): string {
  const lines = [headline(answer), ...answer.violations.map(violationLine), ...answer.remarks.map(told)];
  const { session, promise } = answer;
  if (promise !== undefined) lines.push(`promised: ${told(promise.log_origin)} answers by ${told(promise.answer_by)}`);
  if (session !== undefined && session.globals !== null)
    lines.push(`session ${told(session.name)}: ${session.globals} globals and ${session.files} files are kept`);
  if (answer.truncated)
    lines.push('The service recorded only the beginning of the output: the program wrote too much.');
  if (answer.files.length > 0) lines.push(`files: ${answer.files.map(({ path }) => told(path)).join(', ')}`);
  lines.push(toldStream('stdout', answer.stdout, answer.stdout_left_out));
  lines.push(toldStream('stderr', answer.stderr, answer.stderr_left_out));
  return lines.filter((line) => line !== '').join('\n');
}

/** For each limit, the argument with which a model can raise it. */
const ARGUMENTS: Readonly<Record<string, string>> = { wall_time: 'timeout_seconds', memory: 'memory_mb' };

function violationLine({ type, message, limit, phase }: JobAnswer['violations'][number]): string {
  const argument = phase === undefined ? ARGUMENTS[type] : undefined;
  const bound = limit === undefined || message.includes(String(limit)) ? '' : ` (limit ${limit})`;
  const advice =
    argument === undefined ? '' : `; pass ${argument} to change the limit, up to what list_runtimes allows`;
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
