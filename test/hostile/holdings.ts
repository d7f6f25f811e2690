/** Counts, before and after some work, the host's resources that the kernel says a process holds. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { instanceName } from '../../packages/server/src/sandbox/kernel/host/run-directory.ts';
import { groupNames } from './host-groups.ts';

export interface Holdings {
  readonly descriptors: number;
  readonly children: number;
  readonly groups: number;
  readonly cells: number;
  readonly mounts: number;
  readonly residentBytes: number;
}

/** Counts now. If the process was started with garbage collection exposed, a full collection runs first. */
export function countHoldings(dataDirectory: string): Holdings {
  globalThis.gc?.();
  const cells = join('/run/svc', instanceName(dataDirectory), 'cells');
  return {
    // One descriptor belongs to the directory that is being listed.
    descriptors: readdirSync('/proc/self/fd').length - 1,
    children: childrenOf('self').length,
    groups: groupNames(dataDirectory).length,
    cells: existsSync(cells) ? readdirSync(cells).length : 0,
    mounts: readFileSync('/proc/self/mountinfo', 'utf8').split('\n').length,
    residentBytes: process.memoryUsage.rss(),
  };
}

/** The children of all threads in a process. */
function childrenOf(pid: string): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  );
}
