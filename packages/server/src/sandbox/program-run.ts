/**
 * A program that runs, in a cell of any kind: its output is recorded, its limits are watched, and its end is told from who
 * killed it, what was counted and what was reported.
 */
import { type Counters, endingOf, inCompilation, violationsOf, type WaitStatus } from './ending.ts';
import { Captures } from './output/captures.ts';
import type { Pipes } from './output/pipes.ts';
import type { Workspace } from './output/workspace.ts';
import type { Collection, OutputSink, Program, RunningCell, StopCause } from './sandbox.ts';
import { Watch, type WatchOptions } from './watch/watch.ts';

/** What a cell knows of its program once nothing of it is alive. */
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
  /** What an operator should read if the status is null. */
  readonly diagnostics: string;
}

export interface RunOptions extends Pick<WatchOptions, 'watched' | 'cpu'> {
  readonly program: Program;
  readonly pipes: Pipes;
  readonly workspace: Workspace;
  readonly sink: OutputSink;
  /** Kills everything of the program. */
  kill(): void;
  /** Resolves once nothing of the program is alive. */
  over(): Promise<RunEnd>;
  /** Resolves once no more output comes. */
  drained(): Promise<void>;
}

/** Made at the moment of the release: the wall clock starts. Disposing takes its limits away. */
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

  /** The first reason to end a program is the one that counts. */
  stop(cause: StopCause): void {
    if (this.#stopCause !== null || !this.#watch.close()) return;
    this.#stopCause = cause;
    this.#options.kill();
  }

  async collect(): Promise<Collection> {
    const { program, workspace } = this.#options;
    const { cpuMilliseconds, memoryPeakBytes, isCompiling, ...end } = await this.#options.over();
    this.#watch[Symbol.dispose]();
    const counters: Counters = {
      wallMilliseconds: this.#watch.wallMilliseconds(),
      cpuMilliseconds: cpuMilliseconds ?? 0,
      processesRefused: end.processesRefused,
    };
    await this.#options.drained();
    const ending = endingOf({
      ...end,
      isCompiling,
      stopCause: this.#stopCause,
      breach: this.#watch.breach,
      isCpuTimeUsedUp: counters.cpuMilliseconds >= program.limits.cpu_seconds * 1000,
    });
    const outputs = workspace.collect(program.outputs);
    const breaches = violationsOf(ending, counters, program.limits);
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
