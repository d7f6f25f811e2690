/**
 * One forked cell, from the request to its launcher until nothing of it is left. The launcher makes and removes the cell's
 * groups, sets its limits and reads the kernel's reports on it. Each step takes this module one message, instead of dozens of
 * system calls on the service's main thread. This module judges the reports.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { within } from '../../../ground/waiting/within.ts';
import { type EndingReport, parseEnding } from '../../cell/ending-report.ts';
import { GuestChannel } from '../../cell/guest-channel.ts';
import { sectionsOf } from '../../cell/observe/guest-report.ts';
import { type ObservedPosture, observeNamespaceCell } from '../../cell/observe/observe.ts';
import { holdMemory } from '../../cell/observe/room-for-waiting.ts';
import { limitRows, parseLimitRows } from '../../cell/process-limits.ts';
import type { CellOptions } from '../../cell/runtime.ts';
import {
  type Boot,
  type LimitsInForce,
  type Over,
  type Start,
  usageOf,
  type WaitingCell,
  type WantedLimits,
} from '../../cell/start.ts';
import { type GroupLimits, type Measure, UNLIMITED, type Writing } from '../../kernel/cgroup/cgroup.ts';
import { openPipesOf, type Pipes } from '../../program/output/pipes.ts';
import type { Program } from '../../sandbox.ts';
import { measured, readingWord, writingWord } from './group-words.ts';
import type { Launcher } from './launcher.ts';
import type { LaunchedCell } from './serving.ts';

/** Process 1's descriptor for the cell's own file system: `FILES` in `launcher.h`. */
const FILES = 23;

/** How long a killed cell may take to end. The kernel may be unable to end a process. */
const END_MILLISECONDS_MAX = 10_000;

/** Asks the launcher to make a cell and its groups. */
export function startForked(launcher: Launcher, options: CellOptions, boot: Boot): Start {
  const { group, id, rootUid, hasTools } = options;
  const ended = Promise.withResolvers<void>();
  let cell: ForkedCell | null = null;
  const unwanted = new AbortController();
  const accesses = bootWritings(options, boot).map(writingWord).join(' ');
  const made = launcher.make({ id, rootUid, accesses, hasTools, unwanted: unwanted.signal }).then((launched) => {
    void launched.over.then(() => ended.resolve());
    try {
      unwanted.signal.throwIfAborted();
      cell = new ForkedCell(options, launched, boot);
      return cell;
    } catch (error) {
      launched.forget();
      throw error;
    }
  });
  made.catch(() => ended.resolve());
  return {
    ready: made,
    ended: ended.promise,
    kill() {
      unwanted.abort();
      group.kill();
    },
    said: () => cell?.said() ?? [],
    async end() {
      await within(
        made.catch(() => null),
        END_MILLISECONDS_MAX,
        null,
      );
      // Only a cell that was not made needs the abort. An abort is costly, because it creates an error with a stack.
      if (cell === null) unwanted.abort();
      if (cell === null || !(await cell.end())) await group.remove();
    },
  };
}

function bootWritings({ group: { plan } }: CellOptions, { share, socketBytes, ...limits }: Boot): readonly Writing[] {
  return [
    ...(socketBytes === null ? [] : plan.toLimitSockets(socketBytes)),
    ...plan.toLimit(limits, UNLIMITED),
    ...(share === 1 ? [] : plan.toShare(share)),
  ];
}

/** For each cgroup version, the files of a group that state its memory limit. A program sees the version in /proc. */
const SHOWN = {
  v1: ['memory/memory.limit_in_bytes', 'memory/memory.soft_limit_in_bytes'],
  v2: ['memory.max'],
  none: [],
} as const;

/** Limits that were set, and the launcher's report of them. */
interface Held {
  readonly asked: WantedLimits;
  readonly report: ReadonlyMap<string, string>;
}

class ForkedCell implements WaitingCell {
  readonly pipes: Pipes;
  readonly work: string;
  readonly channel: GuestChannel;
  /** The cell's own directory for values that programs expect in control-group files. No program can write there. */
  readonly #groups: string;
  readonly #options: CellOptions;
  readonly #launched: LaunchedCell;
  readonly #boot: Boot;
  readonly #report: ReadonlyMap<string, string>;
  #isOver = false;
  #lost: Error | null = null;
  #heapMb = 0;
  #cpuMicrosecondsBefore = 0;

  constructor(options: CellOptions, launched: LaunchedCell, boot: Boot) {
    const files = `/proc/${launched.pid}/fd/${FILES}`;
    this.#options = options;
    this.#launched = launched;
    this.#boot = boot;
    this.#report = sectionsOf(launched.report);
    options.group.adopt(launched.pid);
    this.pipes = openPipesOf(launched.pid, options);
    this.channel = new GuestChannel(this.pipes);
    this.work = `${files}/work`;
    this.#groups = `${files}/groups`;
    void launched.over.then((said) => {
      this.#isOver = true;
      if (said instanceof Error) this.#lost = said;
    });
  }

  said(): readonly string[] {
    return [this.#lost?.message ?? '', this.channel.diagnostics].filter((text) => text !== '');
  }

  observe(): ObservedPosture {
    const report = this.#report;
    return observeNamespaceCell({
      hasCompiler: report.has('compiler/status'),
      section: (name) => report.get(name) ?? '',
    });
  }

  /** The memory of the cell when it began to wait. The cell has done nothing since then. */
  memoryBytes(): number {
    return this.#measured(this.#report, 'memoryBytes');
  }

  /** Whether the waiting processes are alive. The launcher ends a cell if one of them has ended. */
  isWhole(): boolean {
    return !this.#isOver;
  }

  async hold(wanted: WantedLimits): Promise<LimitsInForce> {
    const { group } = this.#options;
    this.#heapMb = wanted.heapMb;
    const memory = { wanted: wanted.memoryBytes, inUse: () => this.memoryBytes() };
    const held = await holdMemory(group, memory, (memoryBytes) => this.#set({ ...wanted, memoryBytes }, this.#boot));
    const alive = this.#measured(held.report, 'processes');
    if (!(alive > held.asked.processes)) return this.#inForce(held);
    // The limit was too low for a moment. This did no harm, because no program runs in the cell yet.
    return this.#inForce(await this.#set({ ...held.asked, processes: alive }, held.asked));
  }

  /** Makes the launcher set limits that the kernel accepts. `now` has the present limits of the group. */
  async #set(asked: WantedLimits, now: GroupLimits): Promise<Held> {
    return { asked, report: sectionsOf(await this.#launched.hold(this.#holdWords(asked, now))) };
  }

  #inForce({ asked, report }: Held): LimitsInForce {
    this.#cpuMicrosecondsBefore = this.#measured(report, 'cpuMicroseconds');
    const memoryBytes = this.#measured(report, 'memoryLimitBytes');
    const fits = this.#measured(report, 'oomKills') === 0;
    if (fits) this.#show(memoryBytes);
    return {
      guest: parseLimitRows(report.get('process limits') ?? ''),
      group: { memoryBytes, processes: this.#measured(report, 'processesLimit') },
      asked,
      ownMemoryBytes: 0,
      fits,
      cpuMicroseconds: this.#cpuMicrosecondsBefore,
    };
  }

  /** Writes the memory limit to the files in which language runtimes look for it, but only if the kernel enforces the limit. */
  #show(memoryBytes: number): void {
    const names = SHOWN[this.#options.group.location.version];
    if (names.length > 1) mkdirSync(`${this.#groups}/memory`);
    for (const name of names) writeFileSync(`${this.#groups}/${name}`, `${memoryBytes}\n`, { flag: 'wx' });
  }

  release(program: Program): void {
    this.channel.release(program, this.#heapMb);
  }

  kill(): void {
    this.#options.group.kill();
  }

  /** Resolves once the program is over. If the launcher is gone, the kernel has ended the cell, but its groups still exist. */
  async over(): Promise<Over> {
    const said = await this.#launched.over;
    if (said instanceof Error) {
      this.kill();
      await this.pipes.drained;
      return { ending: parseEnding(''), counted: usageOf((measure) => this.#options.group.read(measure)) };
    }
    const report = sectionsOf(said);
    const ending = parseEnding(report.get('ending') ?? '');
    const counted = usageOf((measure) => this.#measured(report, measure));
    return {
      ending,
      counted: { ...counted, cpuMicroseconds: Math.max(counted.cpuMicroseconds, this.#toldCpu(ending)) },
    };
  }

  /** The processor time if no group counts it: process 1 reports the time of all its children since the hand-over. */
  #toldCpu({ compiled, took }: EndingReport): number {
    if (this.#options.group.location.version !== 'none' || took === null) return 0;
    return this.#cpuMicrosecondsBefore + took.cpuMicroseconds + (compiled?.cpuMicroseconds ?? 0);
  }

  /** Ends the cell if it has not ended. Resolves to whether its groups are gone, too. */
  async end(): Promise<boolean> {
    if (!this.#isOver) this.kill();
    this.#options.group.adopt(null);
    this.#launched.forget();
    const areGone = await within(this.#launched.gone, END_MILLISECONDS_MAX, false);
    await this.pipes.drained;
    this.pipes.destroy();
    return areGone;
  }

  #holdWords(wanted: WantedLimits, now: GroupLimits): string {
    const { plan } = this.#options.group;
    const { memoryBytes, processes, fileBytes, cpuSeconds, guestProcesses } = wanted;
    const writings = [
      ...(wanted.takesShare ? plan.toShare(1) : []),
      ...plan.toLimit({ memoryBytes, processes }, now),
      ...plan.toResetPeak,
    ];
    const measures = ['memoryLimitBytes', 'processesLimit', 'processes', 'oomKills', 'cpuMicroseconds'] as const;
    const readings = measures.flatMap((measure) => plan.readings[measure] ?? []).map(readingWord);
    const limits = limitRows({ fileBytes, cpuSeconds, processes: guestProcesses });
    return [limits, ...writings.map(writingWord), ...readings].join(' ');
  }

  #measured(report: ReadonlyMap<string, string>, measure: Measure): number {
    const { group } = this.#options;
    const reading = group.plan.readings[measure];
    return reading === null ? group.read(measure) : measured(report, reading, measure);
  }
}
