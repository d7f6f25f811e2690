/**
 * One cell, from an empty directory to nothing left, whatever makes it. What it is told to do is in the bundle; what it
 * says of itself is observed; how it ended is known by who killed it, by the kernel's counters and by process 1.
 */
import { availableParallelism } from 'node:os';
import type { Language } from '@vouchbox/protocol';
import { type Counters, endingOf, inCompilation, violationsOf } from '../ending.ts';
import { Captures } from '../output/captures.ts';
import type { Workspace } from '../output/workspace.ts';
import type { Collection, HeldLimits, OutputSink, Posture, Program, Sandbox, StopCause } from '../sandbox.ts';
import { Watch } from '../watch/watch.ts';
import { type Bootstrapped, bootstrap, bootstrapFailure } from './bootstrap.ts';
import type { CellOptions } from './cell-options.ts';
import { heldLimits, wantedLimits } from './observe/hold-limits.ts';
import type { LimitsInForce, Over, Start, WaitingCell } from './runtime/start.ts';

/** Asking takes three system calls. */
const CORES = availableParallelism();
/** A program that was handed over, and what the kernel said of its limits. */
interface Loaded {
  readonly program: Program;
  readonly inForce: LimitsInForce;
}

/** A program that runs. */
interface Running extends Loaded {
  readonly captures: Captures;
  readonly watch: Watch;
}

export class OciCell implements Sandbox {
  readonly language: Language;
  readonly posture: Posture;
  readonly #options: CellOptions;
  readonly #start: Start;
  readonly #cell: WaitingCell;
  readonly #workspace: Workspace;
  readonly #releaseResources: () => void;
  /** Whether it has the small share of the processors that a cell has while no job waits for it. */
  readonly #isAhead: boolean;
  #loaded: Loaded | null = null;
  #running: Running | null = null;
  #stopCause: StopCause | null = null;
  #disposed: Promise<void> | null = null;

  private constructor(options: CellOptions, begun: Bootstrapped, releaseResources: () => void) {
    this.language = options.language;
    this.posture = begun.posture;
    this.#options = options;
    this.#start = begun.start;
    this.#cell = begun.cell;
    this.#workspace = begun.workspace;
    this.#isAhead = begun.isAhead;
    this.#releaseResources = releaseResources;
  }

  /**
   * Builds a cell up to the workload-ready boundary. Rejects with `BootstrapError`, having left nothing behind.
   * `releaseResources` is called once, when the cell is gone.
   */
  static async prepare(options: CellOptions, releaseResources: () => void): Promise<OciCell> {
    const begun = await bootstrap(options).catch((error: unknown) => {
      releaseResources();
      throw error;
    });
    return new OciCell(options, begun, releaseResources);
  }

  get ended(): Promise<void> {
    return this.#start.ended;
  }

  isWhole(): boolean {
    return this.#cell.isWhole();
  }

  memoryBytes(): number {
    return this.#cell.memoryBytes();
  }

  async handOver(program: Program): Promise<HeldLimits> {
    const { runtime } = this.#options;
    const wanted = wantedLimits(program.limits, runtime, this.#isAhead);
    // The limits are on their way while the files are written.
    const limited = this.#cell.hold(wanted);
    limited.catch(() => {});
    await this.#step('files', async () => this.#workspace.fill(program));
    const inForce = await this.#step('limits', () => limited);
    this.#loaded = { program, inForce };
    return heldLimits(program.limits, wanted, inForce, runtime);
  }

  release(sink: OutputSink): void {
    if (this.#loaded === null) throw new Error('a program must be handed over first');
    const { program, inForce } = this.#loaded;
    const captures = new Captures(this.#cell.pipes, sink);
    const { wall_seconds, cpu_seconds } = program.limits;
    const watch = new Watch({
      watched: { kind: 'group', location: this.#options.group.location },
      wallSeconds: wall_seconds,
      cpu: { seconds: cpu_seconds, cores: CORES, microsecondsBefore: inForce.cpuMicroseconds },
    });
    this.#running = { program, inForce, captures, watch };
    // Where the interpreter alone needs more than the job's memory, the job ends as one that ran out of it.
    if (inForce.fits && this.#stopCause === null) this.#cell.release(program);
    else this.#cell.kill();
  }

  /** The first reason to end a program is the one that counts. */
  stop(cause: StopCause): void {
    if (this.#stopCause !== null || this.#running?.watch.close() === false) return;
    this.#stopCause = cause;
    this.#cell.kill();
  }

  async collect(): Promise<Collection> {
    if (this.#running === null) throw new Error('a program must be released first');
    const { program, inForce, captures, watch } = this.#running;
    const over = await this.#cell.over();
    watch[Symbol.dispose]();
    const counters = countersOf(over, { watch, inForce });
    await this.#cell.pipes.drained;
    const { isCompiling, status } = over.ending;
    const ending = endingOf({
      stopCause: this.#stopCause,
      breach: watch.breach,
      oomKills: inForce.fits ? over.counted.oomKills : 1,
      status,
      isCompiling,
      isCpuTimeUsedUp: counters.cpuMilliseconds >= program.limits.cpu_seconds * 1000,
      diagnostics: this.#start.said().join(': '),
    });
    const outputs = this.#workspace.collect(program.outputs);
    const breaches = violationsOf(ending, counters, program.limits);
    return {
      ending,
      usage: {
        wall_ms: Math.round(counters.wallMilliseconds),
        cpu_ms: Math.round(counters.cpuMilliseconds),
        memory_peak_bytes: Math.max(0, over.counted.memoryPeakBytes - inForce.ownMemoryBytes),
      },
      output: captures.end(),
      violations: [...(isCompiling ? inCompilation(breaches) : breaches), ...outputs.violations],
      artifacts: outputs.artifacts,
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposed ??= this.#tearDown();
    return this.#disposed;
  }

  /** Does one step of the hand-over. Where it fails, the cell is gone when this rejects. */
  async #step<Result>(step: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw bootstrapFailure(this.#options, { step, error, said: this.#start.said() });
    }
  }

  async #tearDown(): Promise<void> {
    this.#running?.watch[Symbol.dispose]();
    await this.#start.end();
    this.#workspace[Symbol.dispose]();
    this.#releaseResources();
  }
}

function countersOf({ counted }: Over, { watch, inForce }: Pick<Running, 'watch' | 'inForce'>): Counters {
  return {
    wallMilliseconds: watch.wallMilliseconds(),
    cpuMilliseconds: (counted.cpuMicroseconds - inForce.cpuMicroseconds) / 1000,
    processesRefused: counted.processesRefused,
  };
}
