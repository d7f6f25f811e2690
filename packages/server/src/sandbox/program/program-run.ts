/**
 * A running program in a cell of any kind. This class records the output, watches the limits, and decides how the program ended
 * from who killed it, what the kernel counted and what process 1 reported.
 */
import assert from 'node:assert/strict';
import type { EffectiveLimits, ProgramUsage } from '@vouchbox/protocol';
import { openGroup } from '../kernel/cgroup/open-group.ts';
import type { Collection, OutputSink, Program, RunningCell, StopCause } from '../sandbox.ts';
import { type Counters, endingOf, inCompilation, violationsOf, type WaitStatus } from './ending.ts';
import { Side } from './interaction.ts';
import { Captures } from './output/captures.ts';
import { FedInput } from './output/fed-input.ts';
import { LargeOutputs } from './output/large-outputs.ts';
import type { Pipes } from './output/pipes.ts';
import type { Workspace } from './output/workspace.ts';
import { ToolChannel } from './tools/tool-channel.ts';
import { Watch, type WatchOptions } from './watch/watch.ts';

const MIB = 1024 * 1024;

/** A cell's facts about its program once no process of it is alive. */
export interface RunEnd {
  /** The status that process 1 reported; null if it reported none. */
  readonly status: WaitStatus | null;
  /** Whether the status is that of the compiler, because the program never ran. */
  readonly isCompiling: boolean;
  readonly oomKills: number;
  readonly processesRefused: number;
  /** The processor time; null if nothing counts it. */
  readonly cpuMilliseconds: number | null;
  readonly memoryPeakBytes: number | null;
  /** The usage of the program alone; null if nobody observed it. */
  readonly alone: ProgramAlone | null;
  /** The runtime's message for the operator, if the status is null. */
  readonly diagnostics: string;
}

/** The program's usage without its compiler's. `wall` is its wall time, or the time to subtract from the job's wall time. */
export interface ProgramAlone extends Pick<ProgramUsage, 'account'> {
  readonly cpuMilliseconds: number;
  readonly wall: { readonly milliseconds: number } | { readonly afterMilliseconds: number };
  readonly memoryPeakBytes: number | null;
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

/** A run. It is made at the release, when the wall clock starts. Disposing it ends the watch of its limits. */
export class ProgramRun implements RunningCell, Disposable {
  readonly #options: RunOptions;
  readonly #captures: Captures;
  readonly #watch: Watch;
  readonly #side: Side | null;
  readonly #large: LargeOutputs | null;
  readonly #fed: FedInput | null;
  readonly #tools: ToolChannel | null;
  #stopCause: StopCause | null = null;

  constructor(options: RunOptions) {
    const { program, pipes, sink, watched, cpu } = options;
    this.#options = options;
    this.#captures = new Captures(pipes, sink);
    this.#large = program.large === undefined ? null : new LargeOutputs(program.large, pipes, () => this.#end());
    this.#watch = new Watch({ watched, cpu, wallSeconds: program.limits.wall_seconds });
    this.#fed = FedInput.of(program, pipes.stdin, () => this.#end());
    this.#tools = toolsOf(program, pipes, () => this.#end());
    this.#side = sideOf(program);
    this.#side?.begin({ pipes, breach: () => this.#watch.breach, cpuMilliseconds: cpuReader({ watched, cpu }) });
  }

  /** Ends a run that cannot be recorded. `collect` then says why. */
  #end(): void {
    if (this.#watch.close()) this.#options.kill();
  }

  /** Ends the program from outside. Only the first reason to end a program counts. */
  stop(cause: StopCause): void {
    if (this.#stopCause !== null || !this.#watch.close()) return;
    this.#stopCause = cause;
    this.#options.kill();
  }

  async collect(): Promise<Collection> {
    const { program, limits, workspace } = this.#options;
    const { cpuMilliseconds: counted, memoryPeakBytes, alone, ...end } = await this.#options.over();
    this.#watch[Symbol.dispose]();
    const cpuMilliseconds = counted === null ? null : Math.max(counted, this.#watch.cpuMillisecondsSeen);
    // In a build, the process after the compiler only hands the product over. The program itself never runs.
    const isBuild = program.compilerOptions !== undefined;
    const isCompiling = end.isCompiling || isBuild;
    const counters: Omit<Counters, 'hasFullFile'> = {
      wallMilliseconds: this.#watch.wallMilliseconds(),
      cpuMilliseconds: cpuMilliseconds ?? 0,
      processesRefused: end.processesRefused,
      callsOpen: this.#tools?.callsOpen ?? 0,
    };
    const interaction = await this.#side?.over(cpuMilliseconds);
    await this.#options.drained();
    const hasFullFile = limits.max_file_mb !== null && workspace.holdsFileOf(limits.max_file_mb * MIB);
    const { paths = [], stdout = null } = program.large ?? {};
    const outputs = workspace.collect(program.outputs, stdout === null ? paths : [...paths, stdout]);
    const output = this.#captures.end();
    const large = await this.#large?.collect(workspace, !output.stdout.executor_truncated);
    await this.#fed?.over();
    const ofTools = this.#tools?.over() ?? null;
    const ending = endingOf({
      ...end,
      isCompiling,
      hasProduct: isBuild && large?.outputs.length === 1,
      stopCause: this.#stopCause,
      breach: this.#watch.breach,
      hasToolBreach: ofTools !== null,
      isCpuTimeUsedUp: counters.cpuMilliseconds >= program.limits.cpu_seconds * 1000,
    });
    const breaches = [
      ...violationsOf(ending, { ...counters, hasFullFile }, limits),
      ...(ofTools === null ? [] : [ofTools]),
    ];
    // If the program never ran, missing outputs are not violations.
    const left = [...outputs.violations, ...(large?.violations ?? [])].filter(
      ({ type }) => !isCompiling || type !== 'output_missing',
    );
    return {
      ending,
      usage: {
        wall_ms: Math.round(counters.wallMilliseconds),
        cpu_ms: cpuMilliseconds === null ? null : Math.round(cpuMilliseconds),
        memory_peak_bytes: memoryPeakBytes,
      },
      ...(alone !== null && !isBuild && { programUsage: programUsage(alone, counters.wallMilliseconds) }),
      output,
      violations: [...(isCompiling ? inCompilation(breaches) : breaches), ...left],
      artifacts: outputs.artifacts,
      ...(interaction !== undefined && { interaction }),
      ...(large !== undefined && { largeOutputs: large.outputs }),
    };
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }
}

function programUsage({ cpuMilliseconds, wall, memoryPeakBytes, account }: ProgramAlone, whole: number): ProgramUsage {
  return {
    wall_ms: Math.round('milliseconds' in wall ? wall.milliseconds : Math.max(0, whole - wall.afterMilliseconds)),
    cpu_ms: Math.round(Math.max(0, cpuMilliseconds)),
    memory_peak_bytes: memoryPeakBytes,
    account,
  };
}

/** @throws AssertionError if the cell was not made for tools */
function toolsOf({ tools }: Program, pipes: Pipes, end: () => void): ToolChannel | null {
  if (tools === undefined) return null;
  assert(pipes.tools !== null, 'a program with tools runs in a cell that was made for tools');
  return new ToolChannel(tools, pipes.tools, end);
}

function sideOf({ interaction }: Program): Side | null {
  assert(interaction === undefined || interaction instanceof Side, 'both sides of an interaction are made together');
  return interaction ?? null;
}

/** Reads the processor time of a program that runs; null if nothing counts it. */
function cpuReader({ watched, cpu }: Pick<RunOptions, 'watched' | 'cpu'>): () => number | null {
  if (watched.kind !== 'group' || cpu === null) return () => null;
  const group = openGroup(watched.location);
  return () => (group.read('cpuMicroseconds') - cpu.microsecondsBefore) / 1000;
}
