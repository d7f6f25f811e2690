/**
 * Runs a program to its end, and returns the facts that another system's interface needs. A program of a compiled language
 * is built by one job and started by another, each under its own limits.
 */
import type { RunResult, ServiceClient } from '@vouchbox/client';
import type {
  FoldedResult,
  JobDetail,
  JobSubmission,
  OutputRecord,
  StreamName,
  TerminalReason,
} from '@vouchbox/protocol';
import { isCompiled, outputText } from '@vouchbox/protocol/vocabulary';
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
}

/** What came of a program: a run, which had no build where nothing is compiled; or a build that failed. */
export type Ran =
  | { readonly build: RunResult | null; readonly run: RunResult }
  | { readonly build: RunResult; readonly run: null };

/** The job that stands for the program. */
export function jobOf({ build, run }: Ran): string {
  return run === null ? build.job_id : run.job_id;
}

/** A program that can be started, or a build that failed. */
type Prepared =
  | { readonly build: RunResult | null; readonly start: JobSubmission }
  | { readonly build: RunResult; readonly start: null };

/** Runs the program when it is its turn: what the service has no room for waits in the client. */
export async function runProgram(parts: AdapterParts, program: Program): Promise<Ran> {
  const { build, start } = await prepared(parts, program);
  return start === null ? { build, run: null } : { build, run: await refusals(parts.client.run(start)) };
}

/**
 * Stores the job and returns its id. A build is waited for; if it fails, its id is returned.
 * @throws AdapterError if the service refuses it
 */
export async function submitted(parts: AdapterParts, program: Program): Promise<string> {
  const { build, start } = await prepared(parts, program);
  return start === null ? build.job_id : (await refusals(parts.client.submit(start))).job_id;
}

async function prepared({ client, languages, builds }: AdapterParts, program: Program): Promise<Prepared> {
  const runtime = languages.runtimeOf(program.language);
  const job = { ...submissionOf(program), ...(runtime !== undefined && { runtime }) };
  const { features } = await languages.capabilities();
  if (!isCompiled(job) || !features.includes('builds')) return { build: null, start: job };
  const { language, code } = job;
  const { options, limits } = program.compiler;
  const asked = { language, code, build: { options: [...options] }, ...(runtime !== undefined && { runtime }) };
  const build = await builds.once(asked, () => refusals(client.run({ ...asked, limits })));
  return build.status === 'succeeded'
    ? { build, start: { ...job, product: { job_id: build.job_id } } }
    : { build, start: null };
}

/**
 * How the compiler ended, if there was one, and the program, if it ran. Where the service has no builds, only a compiler that
 * failed is told from the program.
 * @throws AdapterError if one of them was cancelled, or if nothing ran
 */
export function stagesOf({ build, run }: Ran): { readonly compile: Ended | null; readonly run: Ended | null } {
  const compile = build === null ? null : endOf(build);
  const ended = run === null ? null : endOf(run);
  return ended?.stage === 'compile' ? { compile: ended, run: null } : { compile, run: ended };
}

/**
 * A job that has ended.
 * @throws AdapterError if it was cancelled, or if nothing ran
 */
export async function endedJob(client: ServiceClient, detail: JobDetail): Promise<Ended> {
  return endOf({ ...(await refusals(client.result(detail.job_id))), ...detail });
}

type End = Omit<FoldedResult, 'artifacts'> & Pick<JobDetail, 'terminal_reason' | 'signal' | 'receipt'>;

/** @throws AdapterError if the job was cancelled, or if nothing ran */
export function endOf(end: End): Ended {
  const { job_id, signal, stdout, stderr, truncated, violations, receipt } = end;
  const { resource_usage: whole, program_usage, build } = receipt ?? {};
  const isCompiler = build !== undefined || violations.some(({ phase }) => phase === 'compile');
  // What a build's cell starts in place of the program is no part of it.
  const usage = isCompiler ? whole : (program_usage ?? whole);
  return {
    job_id,
    kind: kindOf(end),
    stage: isCompiler ? 'compile' : 'run',
    exitCode: exitCodeOf(end),
    signal,
    stdout,
    stderr,
    truncated,
    remarks: violations.map(({ message }) => message),
    wallMilliseconds: usage?.wall_ms ?? receipt?.duration_ms ?? null,
    cpuMilliseconds: usage?.cpu_ms ?? null,
    memoryBytes: usage?.memory_peak_bytes ?? whole?.memory_peak_bytes ?? null,
  };
}

/** What an answer says beside the outcome: limits that were broken, and output that was cut. Empty if there is nothing. */
export function messageOf({ remarks, truncated }: Ended): string {
  const cut = truncated ? ['the output is cut: the program wrote more than is recorded'] : [];
  return [...remarks, ...cut].join('; ');
}

/** No exit code is recorded of a compiler that failed. Callers only compare it with 0. */
function exitCodeOf({ exit_code, terminal_reason }: End): number | null {
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

function kindOf({ job_id, status, terminal_reason }: End): EndKind {
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
