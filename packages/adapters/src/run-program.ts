/**
 * Runs a program to its end, and returns the facts that another system's interface needs. For a compiled language, one job
 * builds the program and another starts it, each under its own limits.
 */
import type { RunResult } from '@vouchbox/client';
import type {
  FoldedResult,
  JobDetail,
  JobEvent,
  JobSubmission,
  OutputRecord,
  StreamName,
  TerminalReason,
} from '@vouchbox/protocol';
import { isCompiled, type Language, outputText } from '@vouchbox/protocol/vocabulary';
import type { AdapterParts } from './adapter.ts';
import { AdapterError, refusals } from './adapter-error.ts';
import { type Program, submissionOf } from './program.ts';

/** How a program ended, in terms that most other systems share. The kind is never guessed from an exit code. */
export type EndKind = 'exited' | 'signaled' | 'time_limit' | 'memory_limit' | 'compile_failed';

export interface Ended {
  readonly job_id: string;
  readonly kind: EndKind;
  /** The stage that ended. If this is `compile`, the program never ran. */
  readonly stage: 'compile' | 'run';
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  /** The service's texts about exceeded limits; empty if no limit was exceeded. */
  readonly remarks: readonly string[];
  readonly wallMilliseconds: number | null;
  readonly cpuMilliseconds: number | null;
  readonly memoryBytes: number | null;
  /** Every event, if the caller of `runProgram` asked for the history. */
  readonly history: readonly JobEvent[];
}

/** A submission in a language that the adapter knows. */
type Asked = JobSubmission & { readonly language: Language };

/**
 * The outcome of a program: a run or a failed build. A run's `build` is null if nothing was compiled. `job` is the submission of
 * the job that has the program's outcome.
 */
export type Ran =
  | { readonly job: Asked; readonly build: RunResult | null; readonly run: RunResult }
  | { readonly job: Asked; readonly build: RunResult; readonly run: null };

/** The result of the job that has the program's outcome. */
export function ofProgram({ build, run }: Ran): RunResult {
  return run ?? build;
}

/** A program that can be started, or a build that failed. */
type Prepared =
  | { readonly build: RunResult | null; readonly start: Asked }
  | { readonly build: RunResult; readonly start: null; readonly job: Asked };

/**
 * Runs the program when its turn comes: while the service has no room, the program waits in the client. With `history`,
 * the request for each job also asks for the job's events.
 */
export async function runProgram(parts: AdapterParts, program: Program, { history = false } = {}): Promise<Ran> {
  const ready = await prepared(parts, program, history);
  const { build, start } = ready;
  if (start === null) return { job: ready.job, build: ready.build, run: null };
  return { job: start, build, run: await refusals(parts.client.run(start, { history })) };
}

/**
 * Submits the job and returns its id. If the program must be built first, waits for the build; if the build fails,
 * returns the id of the build's job. @throws AdapterError if the service refuses a job
 */
export async function submitted(parts: AdapterParts, program: Program): Promise<string> {
  const { build, start } = await prepared(parts, program);
  return start === null ? build.job_id : (await refusals(parts.client.submit(start))).job_id;
}

async function prepared(
  { client, languages, builds }: AdapterParts,
  program: Program,
  history = false,
): Promise<Prepared> {
  const runtime = languages.runtimeOf(program.language);
  const job: Asked = {
    ...submissionOf(program),
    language: program.language,
    ...(runtime !== undefined && { runtime }),
  };
  const { features } = await languages.capabilities();
  if (!isCompiled(job) || !features.includes('builds')) return { build: null, start: job };
  const { language, code } = job;
  const { options, limits } = program.compiler;
  const asked = { language, code, build: { options: [...options] }, ...(runtime !== undefined && { runtime }) };
  const build = await builds.once(asked, () => refusals(client.run({ ...asked, limits }, { history })));
  return build.status === 'succeeded'
    ? { build, start: { ...job, product: { job_id: build.job_id } } }
    : { build, start: null, job: asked };
}

/**
 * How the compiler and the program ended; null for a stage that did not run. On a service without builds, one job runs both: its
 * end is the compiler's if the compiler failed, else the program's. @throws AdapterError if a stage was cancelled, or nothing ran
 */
export function stagesOf({ build, run }: Ran): { readonly compile: Ended | null; readonly run: Ended | null } {
  const compile = build === null ? null : endOf(build);
  const ended = run === null ? null : endOf(run);
  return ended?.stage === 'compile' ? { compile: ended, run: null } : { compile, run: ended };
}

type End = Omit<FoldedResult, 'artifacts'> &
  Pick<JobDetail, 'terminal_reason' | 'signal' | 'receipt'> &
  Pick<RunResult, 'history'>;

/** @throws AdapterError if the job was cancelled, or if no program ran */
export function endOf(end: End): Ended {
  const { job_id, signal, stdout, stderr, truncated, violations, receipt, history = [] } = end;
  const { resource_usage: whole, program_usage, build } = receipt ?? {};
  const isCompiler = build !== undefined || violations.some(({ phase }) => phase === 'compile');
  // A product's job also runs the process that starts the product. That process's usage does not count.
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
    history,
  };
}

/** An answer's message besides the outcome: which limits were exceeded and whether output was truncated; empty if neither. */
export function messageOf({ remarks, truncated }: Ended): string {
  const cut = truncated ? ['the output is cut: the program wrote more than is recorded'] : [];
  return [...remarks, ...cut].join('; ');
}

/** The exit code. The code of a failed compiler is not recorded; 1 replaces it, since callers only compare the code with 0. */
function exitCodeOf({ exit_code, terminal_reason }: End): number | null {
  return terminal_reason === 'compile_failed' ? 1 : exit_code;
}

/** The kind of end for each reason that lies in the program itself. After any other reason, the program has no result. */
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
  throw new AdapterError(500, `${job_id} has no result: ${status}, ${terminal_reason ?? 'not ended'}`);
}

const isOutput = (kind: string): kind is StreamName => kind === 'stdout' || kind === 'stderr';

/** Both streams, in the order in which the program wrote them. Only the job's history records that order. */
export function outputInOrder({ history }: Ended): string {
  return history.map(({ kind, data }) => (isOutput(kind) ? outputText(data as OutputRecord) : '')).join('');
}
