/** Makes a cell with an OCI runtime, and talks to its process 1 over the pipes that the program uses later. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { within } from '../../../ground/waiting/within.ts';
import type { Group } from '../../cgroup/cgroup.ts';
import { hostPatience } from '../../host/patience.ts';
import { type Pipes, spawnWithPipes } from '../../output/pipes.ts';
import { Workspace } from '../../output/workspace.ts';
import { type Program, Unanswered } from '../../sandbox.ts';
import { bundleConfig } from '../bundle.ts';
import { bundleOptions } from '../cell-layout.ts';
import { readEnding } from '../ending-report.ts';
import { GuestChannel } from '../guest-channel.ts';
import { type GuestReport, parseGuestReport } from '../observe/guest-report.ts';
import type { ObservedPosture } from '../observe/observe.ts';
import type { CellOptions } from './runtime.ts';
import {
  type Boot,
  type LimitsInForce,
  type Over,
  type Start,
  usageOf,
  type WaitingCell,
  type WantedLimits,
} from './start.ts';

/** How long the kernel may take to free the memory of killed processes. */
const FREED_MILLISECONDS_MAX = 2000;

/** How long process 1 may take to set limits on an ordinary host. */
const ANSWER_MILLISECONDS_MAX = 10_000;

/** How a cell is observed: from the host through its runtime's process, or from the report of process 1. */
type Observe = (runtimePid: number, report: GuestReport) => ObservedPosture;

/** Makes the group of a cell, with the limits of its bootstrap. */
export function confineGroup({ group }: CellOptions, { socketBytes, share, ...limits }: Boot): void {
  group.make();
  if (socketBytes !== null) group.write(group.plan.toLimitSockets(socketBytes));
  group.limit(limits);
  if (share !== 1) group.write(group.plan.toShare(share));
}

/**
 * Writes the bundle, and starts the program that makes the cell's mounts and then executes the runtime. The group must
 * exist.
 */
export function startUnderRuntime(options: CellOptions, observe: Observe): Start {
  const { directory, group, runtime } = options;
  mkdirSync(join(directory, 'cell'), { recursive: true, mode: 0o711 });
  writeFileSync(join(directory, 'config.json'), JSON.stringify(bundleConfig(bundleOptions(options))));
  const command = [...runtime.stage(options), ...runtime.command(options)];
  const { child, pipes, said } = spawnWithPipes(command, { env: {}, cwd: '/' });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()).once('error', () => resolve()));
  let cell: RuntimeCell | null = null;
  const ready = pipes.then(async (ours) => {
    cell = new RuntimeCell(options, { pid: child.pid as number, pipes: ours, ended, observe });
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
  /** How many processes the cell had when it began to wait; null if its own kernel reports when one is missing. */
  #members: number | null = null;

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

  /** Resolves when its interpreter waits. */
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

  /** The group is limited last, because that may end the cell. */
  async hold(wanted: WantedLimits): Promise<LimitsInForce> {
    const { group, runtime } = this.#options;
    if (wanted.takesShare) group.write(group.plan.toShare(1));
    const milliseconds = ANSWER_MILLISECONDS_MAX * (await hostPatience());
    const answer = this.channel.limit({ ...wanted, processes: wanted.guestProcesses }, wanted.heapMb);
    const guest = await within(answer, milliseconds, null);
    if (guest === null) {
      throw new Unanswered(milliseconds, `the cell set no limits within ${milliseconds / 1000} s`);
    }
    const ownMemoryBytes = runtime.ownMemoryBytes(group);
    const { processes } = wanted;
    const limits = { memoryBytes: wanted.memoryBytes + ownMemoryBytes, processes };
    const { result: inForce, killed } = await limitedOnceFree(group, () => Promise.resolve(group.limit(limits)));
    group.write(group.plan.toResetPeak);
    const fits = !killed && group.read('oomKills') === 0;
    return { guest, group: inForce, ownMemoryBytes, fits, cpuMicroseconds: group.read('cpuMicroseconds') };
  }

  release(program: Program): void {
    this.channel.release(program);
  }

  kill(): void {
    this.#options.group.kill();
  }

  async over(): Promise<Over> {
    const { group } = this.#options;
    await this.#started.ended;
    const counted = usageOf((measure) => group.read(measure));
    await group.remove();
    const ending = this.#report === null ? { status: null, isCompiling: false } : readEnding(this.#report);
    return { ending, counted };
  }

  async close(): Promise<void> {
    await this.pipes.drained;
    this.pipes.destroy();
    this.#report?.[Symbol.dispose]();
  }
}

/**
 * If more memory is in use than the limit allows, cgroup v2 kills, but v1 refuses the limit (`EBUSY`). The cell is then
 * killed here, and limited once its memory is free. Rejects if that takes too long.
 */
export async function limitedOnceFree<Result>(
  group: Pick<Group, 'kill'>,
  limit: (isKilled: boolean) => Promise<Result>,
): Promise<{ readonly result: Result; readonly killed: boolean }> {
  const deadline = performance.now() + FREED_MILLISECONDS_MAX;
  for (let pause = 0; ; pause = Math.max(1, 2 * pause)) {
    try {
      return { result: await limit(pause > 0), killed: pause > 0 };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY' || performance.now() > deadline) throw error;
      group.kill();
      await delay(pause);
    }
  }
}
