/** Runs a submission to its end, and says what another system's interface needs to know of it. */
import { type ServiceClient, ServiceFailure, TransportFailure } from '@vouchbox/client';
import type {
  Artifact,
  FoldedResult,
  JobDetail,
  JobEvent,
  JobSubmission,
  OutputRecord,
  StreamName,
  TerminalReason,
} from '@vouchbox/protocol';
import { outputText } from '@vouchbox/protocol/vocabulary';
import { AdapterError } from './adapter-error.ts';

/** An end as most such interfaces see it: nothing is guessed from an exit code. */
export type EndKind = 'exited' | 'signaled' | 'time_limit' | 'memory_limit' | 'compile_failed';

export interface Ended {
  readonly job_id: string;
  readonly kind: EndKind;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Both streams in the order in which they were written. */
  readonly output: string;
  readonly truncated: boolean;
  /** What the service says of limits that were broken; empty if none were. */
  readonly remarks: readonly string[];
  readonly wallMilliseconds: number | null;
  readonly cpuMilliseconds: number | null;
  readonly memoryBytes: number | null;
  readonly artifacts: readonly Artifact[];
}

/** @throws AdapterError if nothing ran, with the service's reason */
export async function runProgram(client: ServiceClient, submission: JobSubmission): Promise<Ended> {
  const job_id = await submitted(client, submission);
  const result = await refusals(client.waitForResult(job_id));
  return await endedJob(client, await refusals(client.detail(job_id)), result);
}

/** Stores the job and returns its id. @throws AdapterError if the service refuses it */
export async function submitted(client: ServiceClient, submission: JobSubmission): Promise<string> {
  return (await refusals(client.submit(submission))).job_id;
}

/**
 * A job that has ended.
 * @param read its result, if the caller has it already
 * @throws AdapterError if it was cancelled, or if nothing ran
 */
export async function endedJob(client: ServiceClient, detail: JobDetail, read?: FoldedResult): Promise<Ended> {
  const { job_id } = detail;
  const [result, output] = await refusals(Promise.all([read ?? client.result(job_id), inOrder(client.events(job_id))]));
  const usage = detail.receipt?.resource_usage;
  return {
    job_id,
    kind: kindOf(detail),
    exitCode: exitCodeOf(detail),
    signal: detail.signal,
    stdout: result.stdout,
    stderr: result.stderr,
    output,
    truncated: result.truncated,
    remarks: result.violations.map(({ message }) => message),
    wallMilliseconds: usage?.wall_ms ?? detail.duration_ms,
    cpuMilliseconds: usage?.cpu_ms ?? null,
    memoryBytes: usage?.memory_peak_bytes ?? null,
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

/** An adapter never shows what belongs to it alone, such as its key. */
async function refusals<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ServiceFailure) {
      // A problem with the adapter's own key is not the caller's error.
      const status = error.status === 401 || error.status === 403 ? 502 : error.status;
      throw new AdapterError(status, error.message);
    }
    if (error instanceof TransportFailure) throw new AdapterError(502, 'the service gave no usable answer');
    throw error;
  }
}

const isOutput = (kind: string): kind is StreamName => kind === 'stdout' || kind === 'stderr';

/** The text of both streams, in the order of the job's one history. */
async function inOrder(events: AsyncIterable<JobEvent>): Promise<string> {
  const texts: string[] = [];
  for await (const { kind, data } of events) {
    if (!isOutput(kind)) continue;
    texts.push(outputText(data as OutputRecord));
  }
  return texts.join('');
}
