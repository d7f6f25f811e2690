/** Makes a cell with an OCI runtime, and talks to its process 1 over the pipes that the program uses later. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { within } from '../../../ground/waiting/within.ts';
import { descriptionOptions } from '../../cell/cell-layout.ts';
import { parseEnding, readEnding } from '../../cell/ending-report.ts';
import { GuestChannel } from '../../cell/guest-channel.ts';
import { type GuestReport, parseGuestReport } from '../../cell/observe/guest-report.ts';
import type { ObservedPosture } from '../../cell/observe/observe.ts';
import { holdMemory } from '../../cell/observe/room-for-waiting.ts';
import type { ProcessLimits } from '../../cell/process-limits.ts';
import type { CellOptions, Runtime } from '../../cell/runtime.ts';
import {
  type Boot,
  type LimitsInForce,
  type Over,
  type Start,
  usageOf,
  type WaitingCell,
  type WantedLimits,
} from '../../cell/start.ts';
import { hostPatience } from '../../kernel/host/patience.ts';
import { type Pipes, spawnWithPipes } from '../../program/output/pipes.ts';
import { Workspace } from '../../program/output/workspace.ts';
import { runOf } from '../../program/stages.ts';
import { type Program, Unanswered } from '../../sandbox.ts';
import { bundleConfig } from './bundle.ts';

/** How long process 1 may take to set limits on an ordinary host. */
const ANSWER_MILLISECONDS_MAX = 10_000;

/** How a cell is observed: from the host through its runtime's process, or from the report of process 1. */
type Observe = (runtimePid: number, report: GuestReport) => ObservedPosture;

/** A runtime that `svc-stage` starts for each cell, and that executes our process 1 in the cell. */
export interface StartedRuntime extends Runtime {
  /** The program that joins the cell's groups, makes its mounts and then executes the command. */
  stage(options: CellOptions): readonly string[];
  /** The command that runs the cell's bundle in the foreground. */
  command(options: CellOptions): readonly string[];
  /** The command of process 1, before the words that say what it starts. */
  readonly processOne: readonly string[];
  readonly observe: Observe;
}

/** The differences between the runtimes that are started for each cell. */
export type StartedRuntimeParts = Omit<StartedRuntime, 'start' | 'templateOf' | typeof Symbol.asyncDispose>;

export function startedRuntime(parts: StartedRuntimeParts): StartedRuntime {
  return {
    ...parts,
    templateOf: () => null,
    start: (options, boot) => startUnderRuntime(parts, options, boot),
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Makes the group of a cell, with the limits of its bootstrap. */
function makeGroup({ group }: CellOptions, { socketBytes, share, ...limits }: Boot): void {
  group.make();
  if (socketBytes !== null) group.write(group.plan.toLimitSockets(socketBytes));
  group.limit(limits);
  if (share !== 1) group.write(group.plan.toShare(share));
}

/** Writes the bundle, and starts the program that makes the cell's mounts and then executes the runtime. */
function startUnderRuntime(runtime: StartedRuntimeParts, options: CellOptions, boot: Boot): Start {
  const { directory, group } = options;
  makeGroup(options, boot);
  mkdirSync(join(directory, 'cell'), { recursive: true, mode: 0o711 });
  const { hasTools } = options;
  const processOne = [...runtime.processOne, hasTools ? 'tools' : '-'];
  const bundle = bundleConfig(descriptionOptions(options), processOne);
  writeFileSync(join(directory, 'config.json'), JSON.stringify(bundle));
  const command = [...runtime.stage(options), ...runtime.command(options)];
  const { child, pipes, said } = spawnWithPipes(command, { env: {}, cwd: '/', hasTools });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()).once('error', () => resolve()));
  let cell: RuntimeCell | null = null;
  const ready = pipes.then(async (ours) => {
    cell = new RuntimeCell(options, { pid: child.pid as number, pipes: ours, ended, observe: runtime.observe });
    void ended.then(() => cell?.channel.abort(new Error('the runtime ended')));
    await cell.meet();
    return cell;
  });
  return {
    ready,
    ended,
    kill: () => child.kill('SIGKILL'),
    said: () => [said(), cell?.channel.diagnostics ?? ''],
    async end() {
      await group.remove();
      await ended;
      await cell?.close();
      if (existsSync(directory)) await rm(directory, { recursive: true, force: true });
    },
  };
}

interface Started {
  readonly pid: number;
  readonly pipes: Pipes;
  readonly ended: Promise<void>;
  readonly observe: Observe;
}

class RuntimeCell implements WaitingCell {
  readonly channel: GuestChannel;
  readonly pipes: Pipes;
  readonly work: string;
  readonly #options: CellOptions;
  readonly #started: Started;
  readonly #reportDirectory: string;
  #guest: GuestReport = parseGuestReport('');
  #report: Workspace | null = null;
  /** How many processes the cell had when it began to wait; null in gVisor, which reports a missing process itself. */
  #members: number | null = null;
  #heapMb = 0;

  constructor(options: CellOptions, started: Started) {
    // The cell's tmpfs exists only in its own mount namespace. An open directory outlives that namespace.
    const cell = `/proc/${started.pid}/root${join(options.directory, 'cell')}`;
    this.#options = options;
    this.#started = started;
    this.pipes = started.pipes;
    this.channel = new GuestChannel(started.pipes);
    this.work = join(cell, 'work');
    this.#reportDirectory = join(cell, 'report');
  }

  /** Resolves when the cell's interpreter waits. */
  async meet(): Promise<void> {
    const { aheadUntil, runtime, group } = this.#options;
    this.#guest = parseGuestReport(await this.channel.report());
    this.#report = new Workspace(this.#reportDirectory, 'own');
    if (aheadUntil !== undefined && runtime.sharesHostKernel) this.#members = group.members().length;
  }

  observe(): ObservedPosture {
    return this.#started.observe(this.#started.pid, this.#guest);
  }

  memoryBytes(): number {
    return this.#options.group.read('memoryBytes');
  }

  isWhole(): boolean {
    return this.#members === null || this.#options.group.members().length === this.#members;
  }

  /** Sets the limits. The group is limited last, because that may end the cell. */
  async hold(wanted: WantedLimits): Promise<LimitsInForce> {
    const { group, runtime } = this.#options;
    this.#heapMb = wanted.heapMb;
    if (wanted.takesShare) group.write(group.plan.toShare(1));
    const asked = this.#withRoom(wanted);
    const guest = await this.#limitGuest(asked);
    const ownMemoryBytes = runtime.ownMemoryBytes(group);
    const memory = { wanted: wanted.memoryBytes + ownMemoryBytes, inUse: () => group.read('memoryBytes') };
    const { inForce, memoryBytes } = await holdMemory(group, memory, async (bytes) => ({
      inForce: group.limit({ memoryBytes: bytes, processes: asked.processes }),
      memoryBytes: bytes - ownMemoryBytes,
    }));
    group.write(group.plan.toResetPeak);
    return {
      guest,
      group: inForce,
      asked: { ...asked, memoryBytes },
      ownMemoryBytes,
      fits: group.read('oomKills') === 0,
      cpuMicroseconds: group.read('cpuMicroseconds'),
    };
  }

  /** The wanted limits, with a process limit not below the number of waiting processes. gVisor's kernel counts those itself. */
  #withRoom(wanted: WantedLimits): WantedLimits {
    const { group, runtime } = this.#options;
    if (runtime.sharesHostKernel) return { ...wanted, processes: Math.max(wanted.processes, group.read('processes')) };
    const ofInterpreter = Number(this.#guest.status.get('Threads')) || 0;
    const waiting = ofInterpreter + (runOf(this.#options).compiler === null ? 0 : 1);
    return { ...wanted, guestProcesses: Math.max(wanted.guestProcesses, waiting + runtime.overhead.guestProcesses) };
  }

  async #limitGuest(wanted: WantedLimits): Promise<ProcessLimits> {
    const { fileBytes, cpuSeconds, guestProcesses: processes, memoryBytes } = wanted;
    const milliseconds = ANSWER_MILLISECONDS_MAX * (await hostPatience());
    const answer = this.channel.limit(
      { fileBytes, cpuSeconds, processes },
      this.#options.runtime.sharesHostKernel ? null : memoryBytes,
    );
    const guest = await within(answer, milliseconds, null);
    if (guest !== null) return guest;
    throw new Unanswered(milliseconds, `the cell set no limits within ${milliseconds / 1000} s`);
  }

  release(program: Program): void {
    this.channel.release(program, this.#heapMb);
  }

  kill(): void {
    this.#options.group.kill();
  }

  async over(): Promise<Over> {
    const { group } = this.#options;
    await this.#started.ended;
    const counted = usageOf((measure) => group.read(measure));
    await group.remove();
    const ending = this.#report === null ? parseEnding('') : readEnding(this.#report);
    return { ending, counted };
  }

  async close(): Promise<void> {
    await this.pipes.drained;
    this.pipes.destroy();
    this.#report?.[Symbol.dispose]();
  }
}
