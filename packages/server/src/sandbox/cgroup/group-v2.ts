/** Groups on cgroup v2: one directory for all. Linux, Documentation/admin-guide/cgroup-v2. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Group, GroupLimits, GroupLocation, GroupRoot } from './cgroup.ts';
import {
  childDirectories,
  isGone,
  killAndRemove,
  readMember,
  readNumber,
  readProcesses,
  removeDirectory,
  write,
} from './control-files.ts';

const CONTROLLERS = ['memory', 'pids', 'cpu'] as const;

/**
 * Makes `parent` below `mount`, with the controllers that limits need handed down to it. Where the mount is a delegated
 * subtree that holds this service itself, the kernel forbids that (*no internal processes*), and the processes found
 * there are first moved into a leaf of their own.
 */
export function groupRootV2(mount: string, parent: string): GroupRoot {
  const base = join(mount, parent);
  handDown(mount);
  mkdirSync(base, { recursive: true });
  handDown(base);
  return {
    version: 'v2',
    hybridMount: null,
    create(name) {
      mkdirSync(join(base, name));
      return new GroupV2(join(base, name));
    },
    open: (name) => new GroupV2(join(base, name)),
    names: () => childDirectories(base),
    dispose: () => void removeDirectory(base),
  };
}

function handDown(directory: string): void {
  const file = join(directory, 'cgroup.subtree_control');
  const missing = CONTROLLERS.filter((name) => !readFileSync(file, 'utf8').split(/\s+/).includes(name));
  if (missing.length === 0) return;
  const request = missing.map((name) => `+${name}`).join(' ');
  try {
    write(file, request);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    makeRoom(directory);
    write(file, request);
  }
}

function makeRoom(directory: string): void {
  const leaf = join(directory, 'svc-supervisor');
  mkdirSync(leaf, { recursive: true });
  for (const pid of readProcesses(join(directory, 'cgroup.procs'))) write(join(leaf, 'cgroup.procs'), pid);
}

/** What every group has of `cpu.weight` when it is made. */
const WHOLE_WEIGHT = 100;

/** Whether this kernel limits swap, which is the same for all groups. Null until it was looked at. */
let hasSwapLimit: boolean | null = null;

export class GroupV2 implements Group {
  readonly #directory: string;
  readonly location: GroupLocation;
  readonly joinFiles: readonly string[];
  #isRemoved = false;

  constructor(directory: string) {
    this.#directory = directory;
    this.location = { version: 'v2', directory };
    this.joinFiles = [join(directory, 'cgroup.procs')];
  }

  limit(limits: GroupLimits): GroupLimits {
    write(this.#file('memory.max'), limits.memoryBytes);
    hasSwapLimit ??= existsSync(this.#file('memory.swap.max'));
    if (hasSwapLimit) write(this.#file('memory.swap.max'), 0);
    write(this.#file('memory.oom.group'), 1);
    write(this.#file('pids.max'), limits.processes);
    return { memoryBytes: readNumber(this.#file('memory.max')), processes: readNumber(this.#file('pids.max')) };
  }

  share(part: number): void {
    write(this.#file('cpu.weight'), Math.max(1, Math.round(part * WHOLE_WEIGHT)));
  }

  /** v2 counts it as the group's memory. */
  limitSockets(): void {}

  cpuMicroseconds(): number {
    return readMember(this.#file('cpu.stat'), 'usage_usec');
  }

  /** v2 keeps one peak for the group's whole life (it can be reset only for one open file): bootstrap is in it. */
  resetPeak(): void {}

  memoryPeakBytes(): number {
    const peak = this.#file('memory.peak');
    return readNumber(existsSync(peak) ? peak : this.#file('memory.current'));
  }

  memoryBytes(): number {
    return readNumber(this.#file('memory.current'));
  }

  anonymousBytes(): number {
    return this.memoryBytes() - readMember(this.#file('memory.stat'), 'file');
  }

  oomKills(): number {
    return readMember(this.#file('memory.events'), 'oom_kill');
  }

  processesRefused(): number {
    return readMember(this.#file('pids.events'), 'max');
  }

  members(): readonly number[] {
    return readProcesses(this.joinFiles[0] as string);
  }

  kill(): void {
    try {
      write(this.#file('cgroup.kill'), 1);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  async remove(): Promise<void> {
    if (this.#isRemoved) return;
    await killAndRemove(() => this.kill(), [this.#directory]);
    this.#isRemoved = true;
  }

  #file(name: string): string {
    return join(this.#directory, name);
  }
}
