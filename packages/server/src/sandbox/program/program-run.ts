/**
 * A running program in a cell of any kind. It records the output, watches the limits, and decides how the program ended
 * from who killed it, what the kernel counted and what process 1 reported.
 */
import type { EffectiveLimits } from '@vouchbox/protocol';
import type { Collection, OutputSink, Program, RunningCell, StopCause } from '../sandbox.ts';
import { type Counters, endingOf, inCompilation, violationsOf, type WaitStatus } from './ending.ts';
import { Captures } from './output/captures.ts';
import type { Pipes } from './output/pipes.ts';
import type { Workspace } from './output/workspace.ts';
import { Watch, type WatchOptions } from './watch/watch.ts';

const MIB = 1024 * 1024;

/** What a cell knows about its program once no process of it is alive. */
export interface RunEnd {
  /** Null if it was not reported. */
  readonly status: WaitStatus | null;
  /** Whether the status is that of the compiler, and the program never ran. */
  readonly isCompiling: boolean;
  readonly oomKills: number;
  readonly processesRefused: number;
  /** Null if nothing counts them. */
  readonly cpuMilliseconds: number | null;
  readonly memoryPeakBytes: number | null;
  /** What the operator should read if the status is null. */
  readonly diagnostics: string;
}

export interface RunOptions extends Pick<WatchOptions, 'watched' | 'cpu'> {
  readonly program: Program;
  /** The limits in force. */
  readonly limits: EffectiveLimits;
  readonly pipes: Pipes;
  readonly workspace: Workspace;
  readonly sink: OutputSink;
  /** Kills all processes of the program. */
  kill(): void;
  /** Resolves once no process of the program is alive. */
  over(): Promise<RunEnd>;
  /** Resolves once no more output comes. */
  drained(): Promise<void>;
}

/** Made at the release, when the wall clock starts. Disposing ends the watch of its limits. */
export class ProgramRun implements RunningCell, Disposable {
  readonly #options: RunOptions;
  readonly #captures: Captures;
  readonly #watch: Watch;
  #stopCause: StopCause | null = null;

  constructor(options: RunOptions) {
    const { program, pipes, sink, watched, cpu } = options;
    this.#options = options;
    this.#captures = new Captures(pipes, sink);
    this.#watch = new Watch({ watched, cpu, wallSeconds: program.limits.wall_seconds });
  }

  /** Only the first reason to end a program counts. */
  stop(cause: StopCause): void {
    if (this.#stopCause !== null || !this.#watch.close()) return;
    this.#stopCause = cause;
    this.#options.kill();
  }

  async collect(): Promise<Collection> {
    const { program, limits, workspace } = this.#options;
    const { cpuMilliseconds, memoryPeakBytes, isCompiling, ...end } = await this.#options.over();
    this.#watch[Symbol.dispose]();
    const counters: Omit<Counters, 'hasFullFile'> = {
      wallMilliseconds: this.#watch.wallMilliseconds(),
      cpuMilliseconds: cpuMilliseconds ?? 0,
      processesRefused: end.processesRefused,
    };
    await this.#options.drained();
    const hasFullFile = limits.max_file_mb !== null && workspace.holdsFileOf(limits.max_file_mb * MIB);
    const ending = endingOf({
      ...end,
      isCompiling,
      stopCause: this.#stopCause,
      breach: this.#watch.breach,
      isCpuTimeUsedUp: counters.cpuMilliseconds >= program.limits.cpu_seconds * 1000,
    });
    const outputs = workspace.collect(program.outputs);
    const breaches = violationsOf(ending, { ...counters, hasFullFile }, limits);
    return {
      ending,
      usage: {
        wall_ms: Math.round(counters.wallMilliseconds),
        cpu_ms: cpuMilliseconds === null ? null : Math.round(cpuMilliseconds),
        memory_peak_bytes: memoryPeakBytes,
      },
      output: this.#captures.end(),
      violations: [...(isCompiling ? inCompilation(breaches) : breaches), ...outputs.violations],
      artifacts: outputs.artifacts,
    };
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }
}
