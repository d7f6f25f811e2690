/**
 * The cell in which a program runs. It takes a `Program`, writes output to a sink, and returns an observation. This folder knows
 * no tenant, no job row and no HTTP.
 *
 * A cell is one of four values in turn. Each step makes the next value, at most once:
 *
 *   prepared   up to the workload-ready boundary: bootstrapped, observed, its interpreter waiting, nothing of any job in
 *              it; it may wait there, parked, for as long as the service likes
 *   loaded     the limits set and read back, the files and the program given, still not running
 *   running    the program runs
 *   collected  the program has ended, everything of it is dead, its outputs are read
 *
 * A program that fails is a result. Only a cell that could not be built is an error: `BootstrapError`.
 */
import type {
  ArtifactRecord,
  Backend,
  EffectiveLimits,
  ExecutorOutput,
  IsolationClass,
  Language,
  LimitEnforcement,
  LimitName,
  ObservedInteraction,
  ObservedMembers,
  OutputRecord,
  ProgramUsage,
  RequestedLimits,
  ResourceUsage,
  RuntimeIdentity,
  RuntimePack,
  StoredLargeOutputs,
  StreamName,
  ToolLimits,
  Truncation,
  Violation,
} from '@vouchbox/protocol';

/** The purpose of a cell that does only one step of a compiled program: to build the program, or to start its product. */
export type Stage = 'build' | 'product';

/** An input file. Large content comes in pieces, which can be read only once. */
export interface InputContent {
  readonly path: string;
  readonly content: Uint8Array | AsyncIterable<Uint8Array>;
}

/**
 * One program and everything that it is given. Paths are already validated: relative, under `input/` or `output/`. An entry of
 * `outputs` may be a pattern for all files below a directory.
 */
export interface Program {
  readonly language: Language;
  readonly code: string;
  /** Null gives the program a stdin at end-of-file. Pieces are read once, as the program takes them. */
  readonly stdin: string | AsyncIterable<Uint8Array> | null;
  /** The program's arguments, and its environment variables besides the fixed ones. None contains a NUL. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly InputContent[];
  readonly outputs: readonly string[];
  readonly large?: LargeRequest;
  readonly limits: RequestedLimits;
  /** The words that the program's compiler gets. Only a cell of a build has them; the program itself gets none of them. */
  readonly compilerOptions?: readonly string[];
  /** The product that a cell starts. Large content comes in pieces, which can be read only once. */
  readonly product?: InputContent['content'];
  /** Present if the program may call tools, in a cell that was made for tools. */
  readonly tools?: ProgramTools;
  /** Present in place of stdin if two programs talk to each other. Both are released in one turn of the event loop. */
  readonly interaction?: InteractionSide;
}

/** The members of a program without stdin, arguments, variables, files and outputs. */
export const PLAIN_PROGRAM = { stdin: null, args: [], env: {}, files: [], outputs: [] } as const;

/** A tool call, as the program wrote it. The call's number is the program's own, and means nothing outside. */
export interface ToolCall {
  readonly call: number;
  readonly tool: string;
  /** Any JSON value that is nested no deeper than a body may be. `__proto__` is a name like any other. */
  readonly arguments: unknown;
}

/** The answer to one of a program's calls. */
export type ToolOutcome = { readonly result: unknown } | { readonly error: string };

/** The handler of a program's tool calls. */
export interface ProgramTools {
  readonly limits: ToolLimits;
  /** Called when the program is released. `answer` hands the program an answer, or drops it once the program has ended. */
  begin(answer: (call: number, outcome: ToolOutcome) => void): void;
  /** Called for each call, in the order in which the program made them. This method must not block or throw. */
  called(call: ToolCall): void;
}

/** One of two programs that talk: see `program/interaction.ts`, which makes both sides. */
export interface InteractionSide {
  /** Called when the program has ended, or will never run: the other program finds the end of its input. Idempotent. */
  gone(): void;
}

/** Outputs that are too large for memory. `keep` stores them elsewhere while the cell still has them. */
export interface LargeRequest extends StoredLargeOutputs {
  /**
   * Keeps one large output. `place` is its index in `paths`; for `stdout` it is the index after the last path. The bytes are
   * not used afterwards. Rejects if they cannot be kept, or if `chunks` rejects.
   */
  keep(place: number, chunks: AsyncIterable<Uint8Array>): Promise<Pick<ArtifactRecord, 'size_bytes' | 'sha256'>>;
}

/** A large output that was kept, and its place in the request. */
export interface LargeOutput extends ArtifactRecord {
  readonly place: number;
}

/** The error for a large output that could not be kept. The run then cannot be recorded. */
export class NotKept extends Error {
  override readonly name = 'NotKept';
}

/** The error for standard input that could not be read to its end: the program was not given what the record says. */
export class NotGiven extends Error {
  override readonly name = 'NotGiven';
}

/**
 * How much of a stream was seen, and how much was offered to be stored, when the stream exceeded a recording cap. No later
 * records of the stream are offered. Spec § Limits, stored stdout and stderr.
 */
export type Cut = Readonly<Pick<Truncation, 'bytes_seen' | 'bytes_stored' | 'records_stored'>>;

/**
 * Takes recorded output as it comes, in order within a stream. If a stream exceeds a cap, `cut` comes once, with the last
 * records of the stream or with none. The sink is called often, and must not block or throw.
 */
export type OutputSink = (stream: StreamName, records: readonly OutputRecord[], cut?: Cut) => void;

/** The protections that were on, observed from the cell and never taken from configuration. Null means not observed. */
export type Posture = Readonly<Omit<ObservedMembers, keyof HeldLimits>>;

/** The controls in force, read back after they were set. */
export interface HeldLimits {
  readonly effective_limits: EffectiveLimits;
  readonly limit_enforcement: LimitEnforcement;
}

/** Why the service ended a program itself. */
export type StopCause = 'cancelled' | 'server_shutdown';

/** How a program ended. It is decided by who killed it and by the kernel's counters, never by an exit code. */
export type Ending =
  | { readonly kind: 'exited'; readonly exit_code: number }
  | { readonly kind: 'signaled'; readonly signal: string }
  /** The program never ran. `how` says how the compiler ended. */
  | { readonly kind: 'compile_failed'; readonly how: string }
  | { readonly kind: 'wall_limit' | 'cpu_limit' | 'memory_limit' }
  | { readonly kind: 'stopped'; readonly cause: StopCause }
  | { readonly kind: 'runtime_failed'; readonly message: string };

export interface CollectedArtifact extends ArtifactRecord {
  readonly content: Uint8Array;
}

/** Everything that was observed in one run. `violations` are in the order in which they were noticed. */
export interface Collection {
  readonly ending: Ending;
  readonly usage: ResourceUsage;
  /** The usage of the program alone. Absent if the program did not run, or was not measured separately from its compiler. */
  readonly programUsage?: ProgramUsage;
  readonly output: ExecutorOutput;
  readonly violations: readonly Violation[];
  readonly artifacts: readonly CollectedArtifact[];
  /** The observations of an interaction, if the program talked to another. */
  readonly interaction?: ObservedInteraction;
  readonly largeOutputs?: readonly LargeOutput[];
}

/** A cell that waits. Disposing it, at any step, kills everything inside and leaves nothing behind. */
export interface PreparedCell extends AsyncDisposable {
  readonly language: Language;
  /** The observations at the workload-ready boundary, before anything of a job was in the cell. */
  readonly posture: Posture;
  /** Resolves once process 1 of the cell has ended, whoever ended it. Never rejects. */
  readonly ended: Promise<void>;
  /** Whether all processes that waited at the workload-ready boundary are still alive. Valid only before the hand-over. */
  isWhole(): boolean;
  /** The cell's memory now, in bytes, as the kernel counts it for its group or its processes. */
  memoryBytes(): number;
  /** Sets the limits, reads them back, and gives the cell its files and its program. Rejects with `BootstrapError`. */
  handOver(program: Program): Promise<LoadedCell>;
}

/** A cell that holds a program and its limits. */
export interface LoadedCell {
  /** The posture of the cell that took the program: a parked cell may have been replaced. */
  readonly posture: Posture;
  readonly held: HeldLimits;
  /** Lets the program run; the wall clock starts here. Output reaches the sink from now until `collect` resolves. */
  release(sink: OutputSink): RunningCell;
}

/** A cell whose program runs. */
export interface RunningCell {
  /** Ends the program from outside. Idempotent, and harmless after the end. */
  stop(cause: StopCause): void;
  /**
   * Resolves once the program has ended, none of its processes is alive, all output was offered and all outputs were read.
   * Rejects with `NotKept` if a large output could not be kept, with `NotGiven` if standard input could not be read to its end.
   */
  collect(): Promise<Collection>;
}

/** The members that identify a kind of cell. */
export interface CellKind {
  readonly language: Language;
  /** A runtime pack's name; null stands for the language's usual pack. */
  readonly runtime: string | null;
  /** What the cell is for, if it does not compile and run: see `program/stages.ts`. */
  readonly stage?: Stage | undefined;
  /** Whether the cell's interpreters have fixed hash seeds. Such a cell is no copy, because a copy has its template's seed. */
  readonly reproducible?: true | undefined;
  /** The job's owner, as an opaque name. Only cells of one owner may be copies of one template. */
  readonly owner?: string | undefined;
  /** Whether the cell's program may call tools. Such a cell is made for its job: none is parked. */
  readonly hasTools?: boolean | undefined;
  /** Whether the cell's job has libraries of its own. The cell then has a place for them, and is never parked. */
  readonly hasLibraries?: boolean | undefined;
}

/**
 * The kind of cell that is wanted. `readyMilliseconds` is how long its bootstrap may take, 10,000 by default. If
 * `signal` aborts before the bootstrap has begun, it does not begin. A cell that is made ahead of demand gets a small
 * share of the processors until `aheadUntil` aborts.
 */
export interface CellRequest extends CellKind {
  readonly readyMilliseconds?: number;
  readonly signal?: AbortSignal;
  readonly aheadUntil?: AbortSignal;
}

/** The parts from which a cell of this kind would be made now. */
export interface CellOrigin {
  /** The name of the kind. It is the same for every request of the kind, whether the request names its pack or not. */
  readonly kind: string;
  /** The present state of the runtime's program and the pack, as one text. A parked cell with another text is out of date. */
  madeOf(): string;
}

/** Makes the cells of one isolation class, and has run the canary of every language. */
export interface Provider extends AsyncDisposable {
  readonly backend: Backend;
  readonly isolation_class: IsolationClass;
  /** The languages that ran correctly at the start, in a pack that need not be named. */
  readonly languages: readonly Language[];
  readonly runtime_packs: readonly RuntimePack[];
  /** The limits that were seen to be enforced at the start. Absent for the subprocess, and if cells enforce all of them. */
  readonly enforced?: readonly LimitName[];
  /** Whether the programs of a cell may reach one another over `127.0.0.1` and `::1`. */
  readonly hasLoopback: boolean;
  /** How many MiB a cell may take in addition to its job's `mem_mb`, for a runtime that has its own kernel. */
  readonly ownMemMb: number;
  /**
   * Resolves at the workload-ready boundary. Rejects with `BootstrapError`, and then leaves nothing behind. A few cells are
   * prepared at a time, in the order of the requests.
   */
  prepare(request: CellRequest): Promise<PreparedCell>;
  /** The parts from which a cell of this kind is made; null if there is no such cell. */
  originOf(kind: CellKind): CellOrigin | null;
  /** Records that a job asked for such a cell. For an owner who asks often, later cells may be made in a cheaper way. */
  noteAsked(kind: CellKind): void;
}

/** The error for a bootstrap that took too long. On a busy machine, another try may be fast enough. */
export class NotReadyInTime extends Error {
  override readonly name: string = 'NotReadyInTime';
  constructor(milliseconds: number, message = `not ready within ${milliseconds / 1000} s`) {
    super(message);
  }
}

/**
 * A cell could not be built: the program never ran. `step` names the failed step for the operator, and `posture` is
 * what may be claimed. If the cell was too slow, the cause is `NotReadyInTime`.
 */
export class BootstrapError extends Error {
  override readonly name = 'BootstrapError';
  readonly step: string;
  readonly posture: Posture;
  constructor(step: string, message: string, posture: Posture, options?: ErrorOptions) {
    super(message, options);
    this.step = step;
    this.posture = posture;
  }
}

/** The error if the process that makes cells gave no answer and was killed. Another process may do its work. */
export class Unanswered extends NotReadyInTime {
  override readonly name = 'Unanswered';
}

/** Whether a cell could not be built because the process that makes cells did not answer. */
export function wasUnanswered(error: unknown): boolean {
  return error instanceof BootstrapError && error.cause instanceof Unanswered;
}

/** Whether a cell could not be built because it took too long. */
export function wasLate(error: unknown): boolean {
  return error instanceof BootstrapError && error.cause instanceof NotReadyInTime;
}

/**
 * The posture of a cell that did not reach the workload-ready boundary: nothing is claimed. Spec § Receipt, `bootstrap_ready`.
 */
export function unreadyPosture(backend: Backend, runtime_identity: RuntimeIdentity): Posture {
  return {
    bootstrap_ready: false,
    backend,
    runtime_identity,
    runtime_pack: null,
    isolation_class: null,
    private_rootfs: false,
    dedicated_bootstrap: false,
    seccomp: null,
    no_new_privileges: null,
    capabilities: null,
    network_allowed: null,
    networking: null,
    host_posture_sha256: null,
  };
}

/** The limits of a cell that never became ready: no control was in force. */
export const NO_LIMITS_HELD: HeldLimits = {
  effective_limits: { wall_seconds: null, cpu_seconds: null, mem_mb: null, max_pids: null, max_file_mb: null },
  limit_enforcement: { wall_seconds: false, cpu_seconds: false, mem_mb: false, max_pids: false, max_file_mb: false },
};
