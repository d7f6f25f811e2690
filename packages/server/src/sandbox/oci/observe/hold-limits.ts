/** Sets a job's limits on a waiting cell and says what the kernel then holds, which is all that a receipt may say. */
import { setTimeout as delay } from 'node:timers/promises';
import type { RequestedLimits } from '@svc/protocol';
import type { Group, GroupLimits } from '../../cgroup/cgroup.ts';
import { heapMb } from '../../javascript-heap.ts';
import type { HeldLimits } from '../../sandbox.ts';
import type { GuestChannel } from '../guest-channel.ts';
import type { Runtime } from '../runtime/runtime.ts';

const MIB = 1024 * 1024;
/**
 * The watch holds the CPU time of the whole tree. Behind it stands a resource limit of each process, but not in gVisor: its
 * clock counts the time that a program waits for a processor, and on a busy host runs several times too fast.
 */
const CPU_SECONDS_UNLIMITED = 2 ** 31;
/** How long the kernel may take to free the memory of what was killed. */
const FREED_MILLISECONDS_MAX = 2000;

export interface HoldLimitsOptions {
  readonly limits: RequestedLimits;
  readonly runtime: Runtime;
  readonly group: Group;
  readonly channel: GuestChannel;
}

/** What is held, and whether the waiting cell lives: one that takes more memory than its job may have is killed. */
export interface Hold {
  readonly held: HeldLimits;
  readonly fits: boolean;
  /** Memory of the runtime itself, in bytes, as measured before the program: it is in the group and not the job's. */
  readonly ownMemoryBytes: number;
}

/**
 * Memory and processes are held by the group, which holds the runtime too: what that takes of memory is measured while the
 * interpreter waits, and the group may have so much more. What the runtime takes later, for a larger program, is the job's.
 * File size is held by the interpreter's resource limit, wall clock and CPU time by the watch. The group comes last,
 * because it may end the cell.
 */
export async function holdLimits({ limits, runtime, group, channel }: HoldLimitsOptions): Promise<Hold> {
  const { overhead } = runtime;
  const guest = await channel.limit(
    {
      fileBytes: limits.max_file_mb * MIB,
      cpuSeconds: runtime.sharesHostKernel ? Math.ceil(limits.cpu_seconds) + 1 : CPU_SECONDS_UNLIMITED,
      processes: limits.max_pids + overhead.guestProcesses,
    },
    heapMb(limits.mem_mb),
  );
  const ownMemoryBytes = runtime.ownMemoryBytes(group);
  const wanted = {
    memoryBytes: limits.mem_mb * MIB + ownMemoryBytes,
    processes: overhead.processes(limits.max_pids),
  };
  const { inForce, killed } = await limitGroup(group, wanted);
  const held = {
    effective_limits: {
      wall_seconds: limits.wall_seconds,
      cpu_seconds: limits.cpu_seconds,
      mem_mb: (inForce.memoryBytes - ownMemoryBytes) / MIB,
      max_pids: runtime.heldProcesses({ group: inForce.processes, guest: guest.processes }),
      max_file_mb: guest.fileBytes / MIB,
    },
    limit_enforcement: {
      wall_seconds: true,
      cpu_seconds: Number.isFinite(group.cpuMicroseconds()),
      mem_mb: inForce.memoryBytes <= wanted.memoryBytes,
      max_pids: inForce.processes <= wanted.processes,
      max_file_mb: guest.fileBytes <= limits.max_file_mb * MIB,
    },
  };
  return { held, fits: !killed && group.oomKills() === 0, ownMemoryBytes };
}

/**
 * Where more memory is in use than may be, cgroup v2 kills, and v1 refuses (`EBUSY`): the cell is then killed here, and
 * limited when its memory is free again. Rejects where that does not come to pass.
 */
async function limitGroup(group: Group, wanted: GroupLimits): Promise<{ inForce: GroupLimits; killed: boolean }> {
  const deadline = performance.now() + FREED_MILLISECONDS_MAX;
  for (let pause = 0; ; pause = Math.max(1, 2 * pause)) {
    try {
      return { inForce: group.limit(wanted), killed: pause > 0 };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY' || performance.now() > deadline) throw error;
      group.kill();
      await delay(pause);
    }
  }
}
