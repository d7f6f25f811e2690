/** Runs a submission to its end, and returns the facts that another system's interface needs. */
import type { ServiceClient } from '@vouchbox/client';
import type {
  Artifact,
  FoldedResult,
  JobDetail,
  JobSubmission,
  OutputRecord,
  StreamName,
  TerminalReason,
} from '@vouchbox/protocol';
import { isTerminal, outputText } from '@vouchbox/protocol/vocabulary';
import type { AdapterParts } from './adapter.ts';
import { AdapterError, refusals } from './adapter-error.ts';
import { type Program, submissionOf } from './program.ts';

/** An end as most such interfaces see it: nothing is guessed from an exit code. */
export type EndKind = 'exited' | 'signaled' | 'time_limit' | 'memory_limit' | 'compile_failed';

export interface Ended {
  readonly job_id: string;
  readonly kind: EndKind;
  /** The stage that ended. If it is the compiler's, the program never ran. */
  readonly stage: 'compile' | 'run';
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  /** What the service says of limits that were broken; empty if none were. */
  readonly remarks: readonly string[];
  readonly wallMilliseconds: number | null;
  readonly cpuMilliseconds: number | null;
  readonly memoryBytes: number | null;
  readonly artifacts: readonly Artifact[];
}

/** Many proxies cut an exchange at 60 seconds. */
const waitSeconds = 50;

/** The request that stores the job also waits for it, because every request counts against the caller's budget. */
export async function runProgram(parts: AdapterParts, program: Program): Promise<Ended> {
  const { client, languages } = parts;
  const { features } = await languages.capabilities();
  const options = features.includes('submission_wait') ? { waitSeconds } : {};
  const { job_id, result } = await refusals(client.submit(jobOf(program, parts), options));
  const isEnded = result !== undefined && isTerminal(result.status);
  const ended = isEnded ? result : await refusals(client.waitForResult(job_id));
  return await endedJob(client, await refusals(client.detail(job_id)), ended);
}

/** Stores the job and returns its id. @throws AdapterError if the service refuses it */
export async function submitted(parts: AdapterParts, program: Program): Promise<string> {
  return (await refusals(parts.client.submit(jobOf(program, parts)))).job_id;
}

function jobOf(program: Program, { languages }: AdapterParts): JobSubmission {
  const runtime = languages.runtimeOf(program.language);
  return { ...submissionOf(program), ...(runtime !== undefined && { runtime }) };
}

/**
 * A job that has ended.
 * @param read its result, if the caller has it already
 * @throws AdapterError if it was cancelled, or if nothing ran
 */
export async function endedJob(client: ServiceClient, detail: JobDetail, read?: FoldedResult): Promise<Ended> {
  const { job_id } = detail;
  const result = read ?? (await refusals(client.result(job_id)));
  const { resource_usage: whole, program_usage: usage = whole } = detail.receipt ?? {};
  return {
    job_id,
    kind: kindOf(detail),
    stage: result.violations.some(({ phase }) => phase === 'compile') ? 'compile' : 'run',
    exitCode: exitCodeOf(detail),
    signal: detail.signal,
    stdout: result.stdout,
    stderr: result.stderr,
    truncated: result.truncated,
    remarks: result.violations.map(({ message }) => message),
    wallMilliseconds: usage?.wall_ms ?? detail.duration_ms,
    cpuMilliseconds: usage?.cpu_ms ?? null,
    memoryBytes: usage?.memory_peak_bytes ?? whole?.memory_peak_bytes ?? null,
    artifacts: result.artifacts,
  };
}

/** What an answer says beside the outcome: limits that were broken, and output that was cut. Empty if there is nothing. */
export function messageOf({ remarks, truncated }: Ended): string {
  const cut = truncated ? ['the output is cut: the program wrote more than is recorded'] : [];
  return [...remarks, ...cut].join('; ');
}

/** No exit code is recorded of a compiler that failed. Callers only compare it with 0. */
function exitCodeOf({ exit_code, terminal_reason }: JobDetail): number | null {
  return terminal_reason === 'compile_failed' ? 1 : exit_code;
}

/** The reasons for which a program itself ended. With any other reason it has no result. */
const END_KINDS: Readonly<Partial<Record<TerminalReason, EndKind>>> = {
  exited: 'exited',
  signaled: 'signaled',
  compile_failed: 'compile_failed',
  wall_limit: 'time_limit',
  cpu_limit: 'time_limit',
  memory_limit: 'memory_limit',
};

function kindOf({ job_id, status, terminal_reason }: JobDetail): EndKind {
  const kind = terminal_reason === null ? undefined : END_KINDS[terminal_reason];
  if (kind !== undefined) return kind;
  throw new AdapterError(500, `${job_id} has no result of its program: ${status}, ${terminal_reason ?? 'not ended'}`);
}

const isOutput = (kind: string): kind is StreamName => kind === 'stdout' || kind === 'stderr';

/** Both streams in the order in which they were written. Only the job's history has it. */
export async function outputInOrder(client: ServiceClient, { job_id, stdout, stderr }: Ended): Promise<string> {
  if (stdout === '' || stderr === '') return stdout + stderr;
  const texts: string[] = [];
  for await (const { kind, data } of client.events(job_id)) {
    if (isOutput(kind)) texts.push(outputText(data as OutputRecord));
  }
  return texts.join('');
}
