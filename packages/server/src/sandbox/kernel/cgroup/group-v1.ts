/** Groups on cgroup v1: one directory for each controller. Linux, Documentation/admin-guide/cgroup-v1. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { GroupRoot, KernelPlan, V1Paths, Writing } from './cgroup.ts';
import { childDirectories, memberOf, parseNumber, removeDirectory, writeUnlessGone } from './control-files.ts';
import { KernelGroup } from './kernel-group.ts';

/** Directories of the v1 controllers in use, as mounted on this host. `cpu` only sets shares of the processors. */
export interface V1Controllers {
  readonly memory: string;
  readonly pids: string;
  readonly cpuacct: string;
  readonly cpu: string | null;
}

/** Makes the directory `parent` in each hierarchy. Every cell gets its own directory below it. */
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
  const plan = planOf(paths('any'));
  return {
    version: 'v1',
    hybridMount,
    create(name) {
      const group = new GroupV1(paths(name), plan);
      group.make();
      return group;
    },
    open: (name) => new GroupV1(paths(name), plan),
    names: () => [...new Set(bases.flatMap(childDirectories))],
    dispose: () => bases.forEach(removeDirectory),
  };
}

/** Whether this kernel limits swap; the answer is the same for all groups. Null until it was checked. */
let hasSwapLimit: boolean | null = null;

/** The `cpu.shares` of a new group. */
const WHOLE_SHARES = 1024;

/** The plan of the groups. All groups under a root share it, because it names directories by index. */
function planOf({ memory, pids, cpuacct, cpu, all }: V1Paths): KernelPlan {
  const [ofMemory, ofPids, ofCpuacct] = [memory, pids, cpuacct].map((path) => all.indexOf(path)) as [
    number,
    number,
    number,
  ];
  const inMemory = (file: string, parse = parseNumber) => ({ directory: ofMemory, file, parse });
  const memoryFile = (name: string, value: number): Writing => ({ directory: ofMemory, file: `memory.${name}`, value });
  return {
    readings: {
      memoryLimitBytes: inMemory('memory.limit_in_bytes'),
      processesLimit: { directory: ofPids, file: 'pids.max', parse: parseNumber },
      processes: { directory: ofPids, file: 'pids.current', parse: parseNumber },
      cpuMicroseconds: {
        directory: ofCpuacct,
        file: 'cpuacct.usage',
        parse: (text) => Math.round(parseNumber(text) / 1000),
      },
      memoryPeakBytes: inMemory('memory.max_usage_in_bytes'),
      memoryBytes: inMemory('memory.usage_in_bytes'),
      oomKills: inMemory('memory.oom_control', memberOf('oom_kill')),
      processesRefused: { directory: ofPids, file: 'pids.events', parse: memberOf('max') },
    },
    toLimit({ memoryBytes, processes }, now) {
      hasSwapLimit ??= existsSync(join(dirname(memory), 'memory.memsw.limit_in_bytes'));
      const names = hasSwapLimit ? ['limit_in_bytes', 'memsw.limit_in_bytes'] : ['limit_in_bytes'];
      // The kernel keeps memory ≤ memory+swap at every moment, so the order depends on the direction of the change.
      if (memoryBytes > now.memoryBytes) names.reverse();
      return [
        ...(memoryBytes === now.memoryBytes ? [] : names.map((name) => memoryFile(name, memoryBytes))),
        ...(processes === now.processes ? [] : [{ directory: ofPids, file: 'pids.max', value: processes }]),
      ];
    },
    toShare: (part) =>
      cpu === null
        ? []
        : [{ directory: all.indexOf(cpu), file: 'cpu.shares', value: Math.max(2, Math.round(part * WHOLE_SHARES)) }],
    toLimitSockets: (bytes) => [memoryFile('kmem.tcp.limit_in_bytes', bytes)],
    toResetPeak: [memoryFile('max_usage_in_bytes', 0)],
  };
}

export class GroupV1 extends KernelGroup {
  readonly plan: KernelPlan;
  readonly #pids: string;

  constructor(paths: V1Paths, plan = planOf(paths)) {
    // A write to `cgroup.procs` would wait until no thread of the host forks or ends; a write to `tasks` waits for nothing.
    super({ version: 'v1', paths }, { directories: paths.all, joinFile: 'tasks', filesMember: 'cache' });
    this.plan = plan;
    this.#pids = paths.pids;
  }

  kill(): void {
    // Forks are not refused here: the kernel would count the refusals, and they would count as the program's violation. Whatever
    // a program forks ends with process 1 of its cell. A pid is used as soon as it is read. While its process is in the group, no
    // other process can have the pid.
    for (const pid of this.members()) killProcess(pid);
  }

  protected override refuseForks(): void {
    writeUnlessGone(join(this.#pids, 'pids.max'), 0);
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
