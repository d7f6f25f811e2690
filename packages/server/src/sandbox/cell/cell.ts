/**
 * The life of one cell under any runtime, from an empty directory until nothing of it is left. The bundle configures the cell,
 * and its protections are observed. How it ended follows from who killed it, the kernel's counters and process 1's report.
 */
import { availableParallelism } from 'node:os';
import { once } from '../../ground/once.ts';
import { ProgramRun, type RunEnd } from '../program/program-run.ts';
import { runOf } from '../program/stages.ts';
import type { HeldLimits, LoadedCell, OutputSink, PreparedCell, Program, RunningCell } from '../sandbox.ts';
import { type Bootstrapped, bootstrap, bootstrapFailure } from './bootstrap.ts';
import { heldLimits, wantedLimits } from './hold-limits.ts';
import { programAlone } from './program-alone.ts';
import type { CellOptions } from './runtime.ts';
import type { LimitsInForce } from './start.ts';

/** The number of processors. It is read once, because each reading takes three system calls. */
const CORES = availableParallelism();
const MIB = 1024 * 1024;

export class ConfinedCell implements PreparedCell {
  readonly #options: CellOptions;
  readonly #begun: Bootstrapped;
  /** The resources that end with the cell. */
  readonly #runs = new DisposableStack();
  readonly #gone: () => Promise<void>;

  private constructor(options: CellOptions, begun: Bootstrapped, forget: (isGone: boolean) => void) {
    this.#options = options;
    this.#begun = begun;
    this.#gone = once(async () => {
      let isGone = false;
      try {
        this.#runs.dispose();
        await begun.start.end();
        begun.workspace[Symbol.dispose]();
        isGone = true;
      } finally {
        forget(isGone);
      }
    });
  }

  /**
   * Builds a cell up to the workload-ready boundary. If this fails, it leaves nothing behind and rejects with `BootstrapError`.
   * `forget` is called once: when the cell is gone, or when it could not be removed.
   */
  static async prepare(options: CellOptions, forget: (isGone: boolean) => void): Promise<ConfinedCell> {
    const begun = await bootstrap(options).catch((error: unknown) => {
      forget(true);
      throw error;
    });
    return new ConfinedCell(options, begun, forget);
  }

  get language() {
    return this.#options.language;
  }

  get posture() {
    return this.#begun.posture;
  }

  get ended() {
    return this.#begun.start.ended;
  }

  isWhole(): boolean {
    return this.#begun.cell.isWhole();
  }

  memoryBytes(): number {
    return this.#begun.cell.memoryBytes();
  }

  async handOver(program: Program): Promise<LoadedCell> {
    const { runtime } = this.#options;
    const { cell, workspace, isAhead } = this.#begun;
    const wanted = wantedLimits(program.limits, runtime, isAhead);
    // The limits are being set while the files are written.
    const limited = cell.hold(wanted);
    limited.catch(() => {});
    await this.#step('files', async () => workspace.fill(program));
    const inForce = await this.#step('limits', () => limited);
    const held = heldLimits(program.limits, inForce, runtime);
    return new LoadedConfinedCell(
      {
        ...this.#begun,
        location: this.#options.group.location,
        sharesHostKernel: runtime.sharesHostKernel,
        hasCompiler: runOf(this.#options).compiler !== null,
        runs: this.#runs,
      },
      {
        program,
        inForce,
        held,
      },
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#gone();
  }

  /** Takes one step of the hand-over. If the step fails, the cell is gone by the time the promise rejects. */
  async #step<Result>(step: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      await this.#gone();
      throw bootstrapFailure(this.#options, { step, error, said: this.#begun.start.said() });
    }
  }
}

interface Parts extends Bootstrapped {
  /** Where the cell's group is. */
  readonly location: CellOptions['group']['location'];
  readonly sharesHostKernel: boolean;
  readonly hasCompiler: boolean;
  /** Disposed together with the cell. */
  readonly runs: DisposableStack;
}

interface Loaded {
  readonly program: Program;
  /** The limits that the kernel reported. */
  readonly inForce: LimitsInForce;
  readonly held: HeldLimits;
}

export class LoadedConfinedCell implements LoadedCell {
  readonly #parts: Parts;
  readonly #loaded: Loaded;

  constructor(parts: Parts, loaded: Loaded) {
    this.#parts = parts;
    this.#loaded = loaded;
  }

  get posture() {
    return this.#parts.posture;
  }

  get held() {
    return this.#loaded.held;
  }

  release(sink: OutputSink): RunningCell {
    const { cell, workspace, location, runs } = this.#parts;
    const { program, inForce, held } = this.#loaded;
    const run = new ProgramRun({
      program,
      limits: held.effective_limits,
      pipes: cell.pipes,
      workspace,
      sink,
      watched: {
        kind: 'group',
        location,
        ...(held.limit_enforcement.mem_mb ? {} : { memoryBytesMax: program.limits.mem_mb * MIB }),
      },
      cpu: { seconds: program.limits.cpu_seconds, cores: CORES, microsecondsBefore: inForce.cpuMicroseconds },
      kill: () => cell.kill(),
      over: () => this.#over(),
      drained: () => cell.pipes.drained,
    });
    runs.use(run);
    // If the cell's waiting processes were killed for lack of memory, the job ends as out of memory.
    if (inForce.fits) cell.release(program);
    else cell.kill();
    return run;
  }

  async #over(): Promise<RunEnd> {
    const { cell, start, sharesHostKernel, hasCompiler } = this.#parts;
    const { fits, cpuMicroseconds, group, ownMemoryBytes } = this.#loaded.inForce;
    const { ending, counted } = await cell.over();
    const { status, isCompiling } = ending;
    const usage = {
      cpuMilliseconds: (counted.cpuMicroseconds - cpuMicroseconds) / 1000,
      memoryPeakBytes: Number.isNaN(counted.memoryPeakBytes)
        ? null
        : Math.max(0, Math.min(counted.memoryPeakBytes, group.memoryBytes) - ownMemoryBytes),
    };
    return {
      ...usage,
      status,
      isCompiling,
      oomKills: fits ? counted.oomKills : 1,
      processesRefused: counted.processesRefused,
      // If the waiting processes were killed, the cell was never released.
      alone: fits ? programAlone({ ending, hasCompiler, sharesHostKernel, counted: usage }) : null,
      diagnostics: start.said().join(': '),
    };
  }
}
