/** Everything on the host that belongs to one service's cells, as the kernel counts it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { groupMembers, groupNames } from '../../test/hostile/host-groups.ts';
import { instanceOf } from '../../test/rig/leftovers.ts';

export interface CellRemains {
  /** Control groups, one for every existing cell. */
  readonly groups: number;
  /** Directories of cells that no longer have a group. */
  readonly directories: number;
  /** Mounts that the service itself sees. */
  readonly mounts: number;
  /** Processes that the service started, such as launchers, but not those in cells and in parked cells. */
  readonly processes: number;
}

/** Counts what is left of the service with this process id and data directory. */
export function countRemains(pid: number, dataDirectory: string): CellRemains {
  const groups = groupNames(dataDirectory);
  const inCells = new Set(groups.flatMap((group) => groupMembers(dataDirectory, group)));
  return {
    groups: groups.length,
    directories: readdirSync(join('/run/svc', instanceOf(dataDirectory), 'cells')).filter(
      (name) => !groups.includes(name),
    ).length,
    mounts: readFileSync(`/proc/${pid}/mountinfo`, 'utf8').split('\n').length,
    processes: descendantsOf(pid).filter((process) => !inCells.has(process) && !hasChildIn(process, inCells)).length,
  };
}

/** Whether a child of this process is in a cell. A launcher that was replaced lives until its last cell is used. */
function hasChildIn(process: number, inCells: ReadonlySet<number>): boolean {
  return childrenOf(process).some((child) => inCells.has(child));
}

function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return []; // The process has just ended.
  }
}
