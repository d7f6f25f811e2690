/** Groups on cgroup v1: one directory for each controller. Linux, Documentation/admin-guide/cgroup-v1. */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Group, GroupLimits, GroupLocation, GroupRoot, V1Paths } from './cgroup.ts';
import {
  childDirectories,
  isGone,
  killAndRemove,
  makeDirectories,
  readMember,
  readNumber,
  readProcesses,
  removeDirectory,
  write,
} from './control-files.ts';

/** Directories of the v1 controllers that are used, as mounted on this host. `cpu` only shares out the processors. */
export interface V1Controllers {
  readonly memory: string;
  readonly pids: string;
  readonly cpuacct: string;
  readonly cpu: string | null;
}

/** Makes `parent` in each hierarchy, below which every cell gets its own directory. */
export function groupRootV1(controllers: V1Controllers, parent: string, hybridMount: string | null): GroupRoot {
  const bases = [...new Set(Object.values(controllers))]
    .filter((path): path is string => path !== null)
    .map((path) => join(path, parent));
  for (const base of bases) mkdirSync(base, { recursive: true });
  const paths = (name: string) => ({
    memory: join(controllers.memory, parent, name),
    pids: join(controllers.pids, parent, name),
    cpuacct: join(controllers.cpuacct, parent, name),
    cpu: controllers.cpu === null ? null : join(controllers.cpu, parent, name),
    all: bases.map((base) => join(base, name)),
  });
  return {
    version: 'v1',
    hybridMount,
    create(name) {
      const at = paths(name);
      makeDirectories(at.all);
      return new GroupV1(at);
    },
    open: (name) => new GroupV1(paths(name)),
    names: () => [...new Set(bases.flatMap(childDirectories))],
    dispose: () => bases.forEach(removeDirectory),
  };
}

/** Whether this kernel limits swap, which is the same for all groups. Null until it was looked at. */
let hasSwapLimit: boolean | null = null;

/** What every group has of `cpu.shares` when it is made. */
const WHOLE_SHARES = 1024;

export class GroupV1 implements Group {
  readonly #at: V1Paths;
  readonly location: GroupLocation;
  readonly joinFiles: readonly string[];
  #isRemoved = false;

  constructor(at: V1Paths) {
    this.#at = at;
    this.location = { version: 'v1', paths: at };
    // A thread that moves itself by `tasks` need not wait, as by `cgroup.procs`, until no thread of the host forks or ends.
    this.joinFiles = at.all.map((directory) => join(directory, 'tasks'));
  }

  limit(limits: GroupLimits): GroupLimits {
    const memory = join(this.#at.memory, 'memory.limit_in_bytes');
    const withSwap = join(this.#at.memory, 'memory.memsw.limit_in_bytes');
    const pids = join(this.#at.pids, 'pids.max');
    // The kernel keeps memory ≤ memory+swap at every moment, so the order depends on the direction of the change.
    hasSwapLimit ??= existsSync(withSwap);
    const both = hasSwapLimit ? [memory, withSwap] : [memory];
    if (limits.memoryBytes > readNumber(memory)) both.reverse();
    for (const file of both) write(file, limits.memoryBytes);
    write(pids, limits.processes);
    return { memoryBytes: readNumber(memory), processes: readNumber(pids) };
  }

  share(part: number): void {
    if (this.#at.cpu !== null) write(join(this.#at.cpu, 'cpu.shares'), Math.max(2, Math.round(part * WHOLE_SHARES)));
  }

  limitSockets(bytes: number): void {
    write(join(this.#at.memory, 'memory.kmem.tcp.limit_in_bytes'), bytes);
  }

  cpuMicroseconds(): number {
    return Math.round(readNumber(join(this.#at.cpuacct, 'cpuacct.usage')) / 1000);
  }

  resetPeak(): void {
    write(join(this.#at.memory, 'memory.max_usage_in_bytes'), 0);
  }

  memoryPeakBytes(): number {
    return readNumber(join(this.#at.memory, 'memory.max_usage_in_bytes'));
  }

  memoryBytes(): number {
    return readNumber(join(this.#at.memory, 'memory.usage_in_bytes'));
  }

  anonymousBytes(): number {
    const { memory } = this.#at;
    return this.memoryBytes() - readMember(join(memory, 'memory.stat'), 'cache');
  }

  oomKills(): number {
    return readMember(join(this.#at.memory, 'memory.oom_control'), 'oom_kill');
  }

  processesRefused(): number {
    return readMember(join(this.#at.pids, 'pids.events'), 'max');
  }

  members(): readonly number[] {
    return [...new Set(this.#at.all.flatMap((directory) => readProcesses(join(directory, 'cgroup.procs'))))];
  }

  kill(): void {
    this.#forbidForks();
    // A pid is used the moment it was read: while its process is in the group it cannot have been given to another.
    for (const pid of this.members()) killProcess(pid);
  }

  async remove(): Promise<void> {
    if (this.#isRemoved) return;
    await killAndRemove(() => this.kill(), this.#at.all);
    this.#isRemoved = true;
  }

  #forbidForks(): void {
    try {
      write(join(this.#at.pids, 'pids.max'), 0);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
