/**
 * The control groups of a service's cells as the kernel shows them on this host: their names, their processes and their
 * counters. All is read from the kernel's files, on either cgroup version. If this process cannot make groups, a cell is the
 * process tree below the cell's process 1, and the id of process 1 is the cell's name.
 */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCgroupLayout } from '../../packages/server/src/sandbox/kernel/cgroup/layout.ts';
import { ProcessTree } from '../../packages/server/src/sandbox/kernel/cgroup/process-tree.ts';
import { instanceName } from '../../packages/server/src/sandbox/kernel/host/run-directory.ts';
import { instanceOf } from '../rig/leftovers.ts';

const ROOT = '/sys/fs/cgroup';
/** Whether this process can make groups. */
export const HAS_GROUPS = readCgroupLayout().usable !== null;
const V1_CONTROLLERS = ['pids', 'memory', 'cpuacct', 'cpu'];

/** Directories that may hold one service's groups, one for each hierarchy on this host. */
function directoriesOf(dataDirectory: string): string[] {
  const isServed = existsSync(join(dataDirectory, 'instance-id'));
  const instance = isServed ? instanceOf(dataDirectory) : instanceName(dataDirectory);
  // The group is right below the mount, or inside the unit of a service that may use only its unit's group.
  if (existsSync(join(ROOT, 'cgroup.controllers'))) return globSync(join(ROOT, `{,*/,*/*/}${instance}`));
  return V1_CONTROLLERS.map((name) => join(ROOT, name, instance)).filter((path) => existsSync(path));
}

/** The names of the groups that exist for a service's cells. */
export function groupNames(dataDirectory: string): string[] {
  if (!HAS_GROUPS) return treesBelow(process.pid).map(String);
  const names = directoriesOf(dataDirectory).flatMap((directory) =>
    readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory()),
  );
  return [...new Set(names.map(({ name }) => name))];
}

/** The host ids of the processes in a cell's group; none if the group is gone. */
export function groupMembers(dataDirectory: string, group: string): number[] {
  if (!HAS_GROUPS) return treeOf(Number(group));
  const [directory] = directoriesOf(dataDirectory);
  if (directory === undefined) return [];
  const text = readOrEmpty(join(directory, group, 'cgroup.procs'));
  return text.split('\n').filter(Boolean).map(Number);
}

/** The CPU time of all processes that were ever in a cell's group, in milliseconds. */
export function groupCpuMilliseconds(dataDirectory: string, group: string): number {
  if (!HAS_GROUPS) return new ProcessTree(Number(group)).read('cpuMicroseconds') / 1000;
  const usage = directoriesOf(dataDirectory).map((directory) => readOrEmpty(join(directory, group, 'cpuacct.usage')));
  const stat = directoriesOf(dataDirectory).map((directory) => readOrEmpty(join(directory, group, 'cpu.stat')));
  const microseconds = /^usage_usec (\d+)$/m.exec(stat.join('\n'))?.[1];
  return microseconds === undefined ? Number(usage.find(Boolean)) / 1e6 : Number(microseconds) / 1000;
}

/** Those descendants of a process that are process 1 in a nested process namespace. */
function treesBelow(pid: number): number[] {
  return treeOf(pid).filter((one) => /^\d+ 1$/.test(statusOf(one, 'NSpid')));
}

/** A process and its descendants; none if the process is gone. */
function treeOf(pid: number): number[] {
  if (statusOf(pid, 'Pid') === '') return [];
  const found = [pid];
  for (const parent of found) {
    const threads = globSync(`/proc/${parent}/task/*/children`);
    found.push(...threads.flatMap((file) => readOrEmpty(file).split(' ').filter(Boolean).map(Number)));
  }
  return found;
}

/** A member of /proc/PID/status (proc_pid_status(5)), with single spaces; empty if the process is gone. */
export function statusOf(pid: number, name: string): string {
  const line = readOrEmpty(`/proc/${pid}/status`)
    .split('\n')
    .find((candidate) => candidate.startsWith(`${name}:`));
  return (
    line
      ?.slice(name.length + 1)
      .trim()
      .replaceAll(/\s+/g, ' ') ?? ''
  );
}

/** A process's command line, with its words joined by spaces. */
export function commandOf(pid: number): string {
  return readOrEmpty(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // A process or a group may end while its files are read.
  }
}
