/** Groups on cgroup v2: one directory for all. Linux, Documentation/admin-guide/cgroup-v2. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { GroupRoot, KernelPlan, Writing } from './cgroup.ts';
import {
  childDirectories,
  memberOf,
  parseNumber,
  readProcesses,
  removeDirectory,
  write,
  writeUnlessGone,
} from './control-files.ts';
import { KernelGroup } from './kernel-group.ts';

/** The controllers that limits need. `cpu` is for shares of the processors, and a delegated subtree may lack it. */
const CONTROLLERS = ['memory', 'pids', 'cpu'] as const;
/** The leaf to which the processes of a delegated group are moved: cgroups(7), "no internal processes". */
export const SUPERVISOR = 'svc-supervisor';
const MOVES_MAX = 20;

/**
 * Makes `parent` below `mount`, and enables in it the controllers that limits need. If the mount is a delegated subtree
 * that contains this service itself, the kernel forbids this (*no internal processes*), so all processes of the subtree's
 * root are first moved into a separate leaf.
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
      const group = new GroupV2(join(base, name));
      group.make();
      return group;
    },
    open: (name) => new GroupV2(join(base, name)),
    names: () => childDirectories(base),
    dispose: () => void removeDirectory(base),
  };
}

function handDown(directory: string): void {
  const file = join(directory, 'cgroup.subtree_control');
  const namesIn = (name: string) => readFileSync(join(directory, name), 'utf8').trim().split(/\s+/);
  const [there, on] = [namesIn('cgroup.controllers'), namesIn('cgroup.subtree_control')];
  const missing = CONTROLLERS.filter((name) => there.includes(name) && !on.includes(name));
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

/** Moves all processes of a directory away. A process may have started another one while it was moved, so this is repeated. */
function makeRoom(directory: string): void {
  const leaf = join(directory, SUPERVISOR);
  mkdirSync(leaf, { recursive: true });
  for (let moves = 0; moves < MOVES_MAX; moves++) {
    const processes = readProcesses(join(directory, 'cgroup.procs'));
    if (processes.length === 0) return;
    for (const pid of processes) moveInto(leaf, pid);
  }
}

function moveInto(leaf: string, pid: number): void {
  try {
    write(join(leaf, 'cgroup.procs'), pid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // It has ended.
  }
}

/** The `cpu.weight` of a new group. */
const WHOLE_WEIGHT = 100;

const setting = (file: string, value: number): Writing => ({ directory: 0, file, value });
const number = (file: string) => ({ directory: 0, file, parse: parseNumber });
const member = (file: string, name: string) => ({ directory: 0, file, parse: memberOf(name) });

/** The plan that all groups below `parent` share. */
function planOf(parent: string): KernelPlan {
  const has = (file: string) => existsSync(join(parent, file));
  const onceForAll = [
    ...(has('memory.swap.max') ? [setting('memory.swap.max', 0)] : []),
    ...(has('memory.oom.group') ? [setting('memory.oom.group', 1)] : []),
  ];
  return {
    readings: {
      memoryLimitBytes: number('memory.max'),
      processesLimit: number('pids.max'),
      processes: number('pids.current'),
      cpuMicroseconds: member('cpu.stat', 'usage_usec'),
      memoryPeakBytes: has('memory.peak') ? number('memory.peak') : null,
      memoryBytes: number('memory.current'),
      oomKills: member('memory.events', 'oom_kill'),
      processesRefused: member('pids.events', 'max'),
    },
    toLimit: ({ memoryBytes, processes }, now) => [
      ...(memoryBytes === now.memoryBytes ? [] : [setting('memory.max', memoryBytes)]),
      ...(now.memoryBytes === Number.POSITIVE_INFINITY ? onceForAll : []),
      ...(processes === now.processes ? [] : [setting('pids.max', processes)]),
    ],
    toShare: (part) => (has('cpu.weight') ? [setting('cpu.weight', Math.max(1, Math.round(part * WHOLE_WEIGHT)))] : []),
    toLimitSockets: () => [],
    /** v2 keeps one peak for the group's whole life, including the bootstrap. It can be reset only for one open file. */
    toResetPeak: [],
  };
}

/** The plan of the groups below a directory, made once. */
let known: { readonly parent: string; readonly plan: KernelPlan } | null = null;

export class GroupV2 extends KernelGroup {
  readonly #directory: string;

  constructor(directory: string) {
    const directories = [directory];
    super({ version: 'v2', directory }, { directories, joinFile: 'cgroup.procs', filesMember: 'file' });
    this.#directory = directory;
  }

  get plan(): KernelPlan {
    const parent = dirname(this.#directory);
    if (known?.parent !== parent) known = { parent, plan: planOf(parent) };
    return known.plan;
  }

  kill(): void {
    writeUnlessGone(join(this.#directory, 'cgroup.kill'), 1);
  }
}
