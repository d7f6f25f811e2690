/**
 * A provider whose cells do what a test tells them. A test can drive the stages of a job through every order of events,
 * including rare ones, without a process or a clock. Real cells are tested in `src/sandbox/`.
 */
import { createHash } from 'node:crypto';
import {
  type ExecutorOutput,
  type Language,
  type OutputRecord,
  outputText,
  type StreamName,
  type Violation,
} from '@vouchbox/protocol';
import {
  BootstrapError,
  type CellKind,
  type CellOrigin,
  type CollectedArtifact,
  type Collection,
  type Cut,
  type Ending,
  type LoadedCell,
  type OutputSink,
  type Posture,
  type PreparedCell,
  type Program,
  type Provider,
  type RunningCell,
  type StopCause,
  unreadyPosture,
} from '../src/sandbox/sandbox.ts';

const IDENTITY = { name: 'scripted', version: null, platform: null };

export const readyPosture: Posture = {
  ...unreadyPosture('namespace', IDENTITY),
  bootstrap_ready: true,
  isolation_class: 'linux-shared-kernel',
  private_rootfs: true,
  dedicated_bootstrap: true,
  seccomp: 'filter',
  no_new_privileges: true,
  capabilities: '0',
  network_allowed: false,
  networking: 'disabled',
};

export const unready: Posture = unreadyPosture('namespace', IDENTITY);

/** The parts of a run's result other than its ending. */
interface RunFacts {
  readonly artifacts?: readonly CollectedArtifact[];
  readonly violations?: readonly Violation[];
}

/** One cell under the test's control. */
export class ScriptedCell implements PreparedCell, RunningCell {
  readonly language: Language;
  readonly posture: Posture;
  program: Program | null = null;
  stopped: StopCause | null = null;
  disposed = false;
  isReleased = false;
  /** The cell waits for this before it takes a program; rejects if it cannot take one. */
  ready: Promise<void> = Promise.resolve();
  readonly released = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<Collection>();
  #sink: OutputSink | null = null;
  readonly #offered = new Map<StreamName, Omit<Cut, 'bytes_seen'>>();

  constructor(language: Language, posture: Posture) {
    this.language = language;
    this.posture = posture;
  }

  readonly #over = Promise.withResolvers<void>();
  readonly ended = this.#over.promise;

  isWhole(): boolean {
    return !this.disposed;
  }

  memoryBytes(): number {
    return 4096;
  }

  async handOver(program: Program): Promise<LoadedCell> {
    this.program = program;
    await this.ready;
    const limit_enforcement = {
      wall_seconds: true,
      cpu_seconds: true,
      mem_mb: true,
      max_pids: true,
      max_file_mb: true,
    };
    const held = { effective_limits: program.limits, limit_enforcement };
    return { posture: this.posture, held, release: (sink) => this.release(sink) };
  }

  release(sink: OutputSink): RunningCell {
    this.isReleased = true;
    this.#sink = sink;
    this.released.resolve();
    return this;
  }

  /** The program writes. */
  write(stream: StreamName, ...records: readonly OutputRecord[]): void {
    this.#count(stream, records);
    this.#sink?.(stream, records);
  }

  /** The program writes more than is recorded: these are the last records of the stream. */
  writeOver(stream: StreamName, bytes_seen: number, ...records: readonly OutputRecord[]): void {
    this.#sink?.(stream, records, { bytes_seen, ...this.#count(stream, records) });
  }

  #count(stream: StreamName, records: readonly OutputRecord[]) {
    const { bytes_stored, records_stored } = this.#offered.get(stream) ?? { bytes_stored: 0, records_stored: 0 };
    const bytes = Buffer.byteLength(records.map(outputText).join(''));
    const offered = { bytes_stored: bytes_stored + bytes, records_stored: records_stored + records.length };
    this.#offered.set(stream, offered);
    return offered;
  }

  /** The program ends. */
  end(ending: Ending, facts: RunFacts = {}): void {
    this.#ended.resolve({
      ending,
      usage: { wall_ms: 1, cpu_ms: 1, memory_peak_bytes: 4096 },
      output: TELEMETRY,
      violations: facts.violations ?? [],
      artifacts: facts.artifacts ?? [],
    });
  }

  /** The cell cannot say how the program ended. */
  fail(error: Error): void {
    this.#ended.reject(error);
  }

  stop(cause: StopCause): void {
    this.stopped ??= cause;
    this.end({ kind: 'stopped', cause });
  }

  collect(): Promise<Collection> {
    return this.#ended.promise;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.disposed = true;
    this.#over.resolve();
    return Promise.resolve();
  }
}

const NOTHING_SEEN = {
  bytes_seen: 0,
  bytes_offered_to_sink: 0,
  records_offered_to_sink: 0,
  raw_sha256: createHash('sha256').digest('hex'),
  executor_truncated: false,
};
const TELEMETRY: ExecutorOutput = { stdout: NOTHING_SEEN, stderr: NOTHING_SEEN };

/** Prepares cells as `script` says: a posture gives a cell with that posture, an error is thrown. */
export class ScriptedProvider implements Provider {
  readonly backend = 'namespace';
  readonly isolation_class = 'linux-shared-kernel';
  readonly languages: readonly Language[] = ['python', 'node', 'bash'];
  readonly hasLoopback = false;
  readonly ownMemMb = 0;
  readonly runtime_packs = [];
  readonly cells: ScriptedCell[] = [];
  /** Gives the posture of the next cell, at once or as a promise. */
  script: () => Posture | Promise<Posture> = () => readyPosture;
  /** Languages whose cells cannot be made. */
  readonly failing = new Set<Language>();
  readonly #failures: Error[] = [];
  readonly #parked: ScriptedCell[] = [];
  #waiting: (() => void)[] = [];

  async prepare({ language }: { readonly language: Language }): Promise<PreparedCell> {
    const failure = this.#failures.shift();
    if (failure !== undefined) throw failure;
    if (this.failing.has(language)) throw new BootstrapError('bootstrap', 'it cannot be started', unready);
    const cell = new ScriptedCell(language, await this.script());
    this.cells.push(cell);
    for (const wake of this.#waiting.splice(0)) wake();
    return cell;
  }

  originOf({ language, runtime }: CellKind): CellOrigin {
    return { kind: `${language} ${runtime}`, madeOf: () => 'script' };
  }

  noteAsked(): void {}

  /** Makes a parked cell. It is among `cells` from now on. */
  park({ language = 'python', posture = readyPosture }: { language?: Language; posture?: Posture } = {}): ScriptedCell {
    const cell = new ScriptedCell(language, posture);
    this.cells.push(cell);
    this.#parked.push(cell);
    return cell;
  }

  /** Parked cells. */
  get parked(): number {
    return this.#parked.length;
  }

  /** See `Cells`. */
  take({ language }: { readonly language: Language }): PreparedCell | null {
    const at = this.#parked.findIndex((cell) => cell.language === language);
    return this.#parked.splice(at, at < 0 ? 0 : 1)[0] ?? null;
  }

  /** The next cell cannot be made; later ones are as `script` says. */
  failOnce(error: Error): void {
    this.#failures.push(error);
  }

  /** The cell with this ordinal, from 0, once its program was released. */
  async running(ordinal: number): Promise<ScriptedCell> {
    let cell = this.cells[ordinal];
    while (cell === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      await promise;
      cell = this.cells[ordinal];
    }
    await cell.released.promise;
    return cell;
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
