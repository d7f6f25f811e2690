/**
 * The processes of a cell, if no control group can be made: process 1 and all its descendants. They are counted by
 * reading /proc (proc(5)): no limit is enforced here. The process namespace of the cell ends with process 1.
 */
import { readdirSync, readFileSync, statfsSync, statSync } from 'node:fs';
import type { Group, GroupLocation, GroupPlan, GroupRoot, Measure } from './cgroup.ts';

/** USER_HZ, the unit of times in /proc/PID/stat. It is the same on every architecture that cells are made on. */
const MICROSECONDS_OF_TICK = 10_000;
const PAGE_BYTES = 4096;
/** File systems in memory that a program may fill. Their files take memory, whether or not a process has them open. */
const FILLED = ['/work', '/tmp', '/dev/shm', '/libraries'];
/** The type of tmpfs in statfs(2). */
const TMPFS = 0x01021994;

const NOTHING: GroupPlan = {
  readings: {
    memoryLimitBytes: null,
    processesLimit: null,
    cpuMicroseconds: null,
    memoryPeakBytes: null,
    memoryBytes: null,
    processes: null,
    oomKills: null,
    processesRefused: null,
  },
  toLimit: () => [],
  toShare: () => [],
  toLimitSockets: () => [],
  toResetPeak: [],
};

/** One process of the tree, as /proc/PID/stat describes it. */
interface Counted {
  readonly state: string;
  /** The ticks of the process itself, and those of the descendants that were waited for. */
  readonly own: number;
  readonly ofChildren: number;
}

export class ProcessTree implements Group {
  readonly directories = [];
  readonly joinFiles = [];
  readonly plan = NOTHING;
  #first: number | null;
  /** The processes that were seen, with the ticks of each, and the total ticks of processes that are gone. */
  #seen = new Map<number, number>();
  #goneTicks = 0;

  constructor(first: number | null = null) {
    this.#first = first;
  }

  get location(): GroupLocation {
    return { version: 'none', first: this.#first ?? 0 };
  }

  /** Sets process 1 of the cell. Set null before its id can be reused: `kill` ends any process with this id. */
  adopt(first: number | null): void {
    this.#first = first;
  }

  make(): void {}

  write(): void {}

  limit(): { memoryBytes: number; processes: number } {
    return { memoryBytes: Number.NaN, processes: Number.NaN };
  }

  read(measure: Measure): number {
    switch (measure) {
      case 'cpuMicroseconds':
        return this.#ticks() * MICROSECONDS_OF_TICK;
      case 'memoryBytes':
        return this.unreclaimableBytes();
      case 'processes':
        return this.#processes().length;
      case 'oomKills':
      case 'processesRefused':
        return 0;
      case 'memoryLimitBytes':
      case 'memoryPeakBytes':
      case 'processesLimit':
        return Number.NaN;
    }
  }

  /** The processes' memory that belongs to no file on a disk. Each process counts only its part of the memory that it shares. */
  unreclaimableBytes(): number {
    return this.anonymousBytes();
  }

  anonymousBytes(): number {
    const shares = this.#processes().map(sharesOf);
    const sumOf = (kind: keyof Shares) => shares.reduce((sum, share) => sum + share[kind], 0);
    // Both sums include files that are mapped, so only the larger sum counts.
    return sumOf('own') + Math.max(sumOf('shared'), this.#filledBytes());
  }

  /** Whether the processes together have more than `bytes`. Shared memory is read only if they could have that much. */
  hasMoreThan(bytes: number): boolean {
    const resident = this.#processes().map(residentOf);
    const most = resident.reduce((sum, one) => sum + one, this.#filledBytes());
    return most > bytes && this.anonymousBytes() > bytes;
  }

  /** The bytes in the cell's file systems in memory. Nobody in the cell can replace them. */
  #filledBytes(): number {
    return FILLED.map((place) => filledAt(`/proc/${this.#first}/root`, place)).reduce((sum, bytes) => sum + bytes, 0);
  }

  members(): readonly number[] {
    const [first] = this.#first === null ? [] : [countedOf(this.#first)];
    return first == null || /[ZX]/.test(first.state) ? [] : [this.#first as number];
  }

  kill(): void {
    if (this.#first === null) return;
    try {
      process.kill(this.#first, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  /** Resolves at once: nothing of the tree is left once the maker of process 1 has waited for it. */
  remove(): Promise<void> {
    return Promise.resolve();
  }

  /** Process 1 and its descendants. A process that starts during the reading may be missing. */
  #processes(): number[] {
    if (this.#first === null) return [];
    const found = [this.#first];
    for (const pid of found) found.push(...childrenOf(pid));
    return found;
  }

  /**
   * The processor time of all processes, in ticks. The kernel adds the time of an ended process to the parent that waited for it.
   * If no parent waited, the time would be lost, so the last time that was seen is added.
   */
  #ticks(): number {
    let [own, ofChildren] = [0, 0];
    const seen = new Map<number, number>();
    for (const pid of this.#processes()) {
      const counted = countedOf(pid);
      if (counted === null) continue;
      own += pid === this.#first ? 0 : counted.own;
      ofChildren += counted.ofChildren;
      seen.set(pid, counted.own);
    }
    for (const [pid, ticks] of this.#seen) if ((seen.get(pid) ?? -1) < ticks) this.#goneTicks += ticks;
    this.#seen = seen;
    return own + Math.max(ofChildren, this.#goneTicks);
  }
}

/** The group root where there are no groups: each cell is the tree of processes below its process 1. */
export function processTrees(): GroupRoot {
  return {
    version: 'none',
    hybridMount: null,
    create: () => new ProcessTree(),
    names: () => [],
    open: () => new ProcessTree(),
    dispose() {},
  };
}

function countedOf(pid: number): Counted | null {
  const text = readIfThere(`/proc/${pid}/stat`);
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  if (text === '') return null;
  const ticks = (first: number) => Number(fields[first]) + Number(fields[first + 1]);
  return { state: fields[0] as string, own: ticks(11), ofChildren: ticks(13) };
}

/** The children of a process and of each of its threads. */
function childrenOf(pid: number): number[] {
  const threads = readIfThere(`/proc/${pid}/status`).match(/^Threads:\s*1$/m) === null ? tasksOf(pid) : [pid];
  return threads.flatMap((thread) =>
    readIfThere(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  );
}

/** The resident memory of a process, with shared memory and files. */
function residentOf(pid: number): number {
  const [, resident = 0] = readIfThere(`/proc/${pid}/statm`).split(' ').map(Number);
  return resident * PAGE_BYTES;
}

/** The memory that only this process has, and its part of the memory that it shares. Neither includes files on disks. */
interface Shares {
  readonly own: number;
  readonly shared: number;
}

function sharesOf(pid: number): Shares {
  const text = readIfThere(`/proc/${pid}/smaps_rollup`);
  const bytesOf = (kind: string) => Number(new RegExp(`^Pss_${kind}:\\s*(\\d+) kB$`, 'm').exec(text)?.[1]) * 1024;
  const [own, shared] = [bytesOf('Anon'), bytesOf('Shmem')];
  return Number.isNaN(own + shared) ? { own: residentOf(pid), shared: 0 } : { own, shared };
}

/** The bytes used in the tmpfs at `place`; zero if `place` is no mount point of a tmpfs. */
function filledAt(root: string, place: string): number {
  try {
    if (statSync(root + place).dev === statSync(`${root}/`).dev) return 0;
    const { type, blocks, bfree, bsize } = statfsSync(root + place);
    return type === TMPFS ? (blocks - bfree) * bsize : 0;
  } catch {
    return 0;
  }
}

function tasksOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [];
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
