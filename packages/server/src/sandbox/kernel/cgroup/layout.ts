/**
 * Finds the layout of this host's control groups: v2, v1, or v1 with a v2 mount beside it (hybrid), and whether this
 * process may make groups there.
 */
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { mayWrite } from '../../../ground/may-write.ts';
import type { GroupRoot } from './cgroup.ts';
import { groupRootV1, type V1Controllers } from './group-v1.ts';
import { groupRootV2, SUPERVISOR } from './group-v2.ts';

/** The layout in words for the operator; `usable` is null if no limits can be held here. */
export interface CgroupLayout {
  readonly version: 'v1' | 'v2' | 'hybrid' | 'none';
  readonly usable: { readonly v1: V1Controllers } | { readonly v2: string } | null;
  /** The v2 mount of a hybrid layout. */
  readonly hybridMount: string | null;
  /** The missing part and how to provide it, if no layout is usable; otherwise null. */
  readonly problem: string | null;
}

interface CgroupMount {
  readonly path: string;
  readonly type: 'cgroup' | 'cgroup2';
  readonly controllers: readonly string[];
}

/**
 * Reads the layout; changes nothing. `mountinfo` is the text of /proc/self/mountinfo (proc(5)), and `ownGroups` that of
 * /proc/self/cgroup (cgroups(7)).
 */
export function readCgroupLayout(
  mountinfo: string = readFileSync('/proc/self/mountinfo', 'utf8'),
  ownGroups: string = readFileSync('/proc/self/cgroup', 'utf8'),
): CgroupLayout {
  const mounts = mountinfo.split('\n').flatMap(parseMount);
  const v2 = mounts.find((mount) => mount.type === 'cgroup2');
  const v1 = (name: string) =>
    mounts.find((mount) => mount.type === 'cgroup' && mount.controllers.includes(name))?.path;
  if (v2 !== undefined && hasControllers(v2.path)) return v2Layout(v2.path, ownGroups);
  const [memory, pids, cpuacct] = [v1('memory'), v1('pids'), v1('cpuacct')];
  if (memory !== undefined && pids !== undefined && cpuacct !== undefined) {
    return v1Layout({ memory, pids, cpuacct, cpu: v1('cpu') ?? null }, v2?.path ?? null);
  }
  const problem =
    mounts.length === 0
      ? 'no cgroup file system is mounted: mount cgroup2 at /sys/fs/cgroup'
      : 'the memory and pids controllers are not available: boot with cgroup_enable=memory, or delegate them to this service';
  return { version: 'none', usable: null, hybridMount: v2?.path ?? null, problem };
}

/** Makes the directory for all groups of this service. Throws one clear line if that is not possible. */
export function openGroupRoot(layout: CgroupLayout, name: string): GroupRoot {
  if (layout.usable === null) throw new Error(layout.problem ?? 'control groups cannot be used');
  return 'v2' in layout.usable
    ? groupRootV2(layout.usable.v2, name)
    : groupRootV1(layout.usable.v1, name, layout.hybridMount);
}

/** The v2 layout. Groups are made below the mount or, if that is not allowed, below this process's own group. */
function v2Layout(path: string, ownGroups: string): CgroupLayout {
  const own = ownGroup(path, ownGroups);
  const usable = [path, own].find(mayMakeGroups);
  return {
    version: 'v2',
    usable: usable === undefined ? null : { v2: usable },
    hybridMount: null,
    problem: usable === undefined ? problemOf(path, own) : null,
  };
}

/** The group that was delegated to this process. The process may have moved into a leaf of that group since. */
function ownGroup(path: string, ownGroups: string): string {
  const [, name = '/'] = /^0::(.*)$/m.exec(ownGroups) ?? [];
  const own = join(path, name);
  return basename(own) === SUPERVISOR ? dirname(own) : own;
}

/** Whether this process may write to these files and make directories, as a delegated subtree's owner may: cgroups(7). */
function mayMakeGroups(path: string): boolean {
  return (
    ['cgroup.subtree_control', 'cgroup.procs', '.'].every((name) => mayWrite(join(path, name))) && hasControllers(path)
  );
}

function problemOf(path: string, own: string): string {
  return mayWrite(join(own, 'cgroup.procs')) && !hasControllers(own)
    ? `${own} lacks the memory or the pids controller: have both delegated (systemd: Delegate=yes)`
    : `${path} is read-only: run as root, or with the cgroup delegated (systemd: Delegate=yes)`;
}

function v1Layout(controllers: V1Controllers, hybridMount: string | null): CgroupLayout {
  const refused = [controllers.memory, controllers.pids, controllers.cpuacct].find((path) => !mayWrite(path));
  return {
    version: hybridMount === null ? 'v1' : 'hybrid',
    usable: refused === undefined ? { v1: controllers } : null,
    hybridMount,
    problem: refused === undefined ? null : `${refused} is read-only: run the service as root`,
  };
}

function parseMount(line: string): CgroupMount[] {
  const [before, after] = line.split(' - ');
  const path = before?.split(' ')[4];
  const [type, , options] = after?.split(' ') ?? [];
  if (path === undefined || (type !== 'cgroup' && type !== 'cgroup2')) return [];
  return [{ path, type, controllers: type === 'cgroup' ? (options ?? '').split(',') : [] }];
}

function hasControllers(path: string): boolean {
  try {
    const names = readFileSync(join(path, 'cgroup.controllers'), 'utf8').trim().split(/\s+/);
    return names.includes('memory') && names.includes('pids');
  } catch {
    return false;
  }
}
