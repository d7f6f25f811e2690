/** Sets a job's limits on a waiting cell and says what the kernel then holds, which is all that a receipt may say. */
import type { RequestedLimits } from '@svc/protocol';
import type { Group } from '../cgroup/cgroup.ts';
import type { HeldLimits } from '../sandbox.ts';
import type { GuestChannel } from './guest-channel.ts';
import type { Runtime } from './runtime.ts';

const MIB = 1024 * 1024;

export interface HoldLimitsOptions {
  readonly limits: RequestedLimits;
  readonly runtime: Runtime;
  readonly group: Group;
  readonly channel: GuestChannel;
}

/**
 * Memory and processes are held by the group, file size by the interpreter's resource limit, wall clock and CPU time by
 * the watch. Rejects where the kernel refuses a limit (`EBUSY`: the cell already uses more memory than that).
 */
export async function holdLimits({ limits, runtime, group, channel }: HoldLimitsOptions): Promise<HeldLimits> {
  const { overhead } = runtime;
  const wanted = {
    memoryBytes: limits.mem_mb * MIB + overhead.memoryBytes,
    processes: overhead.processes(limits.max_pids),
  };
  const held = group.limit(wanted);
  const guest = await channel.limit(
    {
      fileBytes: limits.max_file_mb * MIB,
      // The watch holds the CPU time of the whole tree; this one, of one process, is a second line behind it.
      cpuSeconds: Math.ceil(limits.cpu_seconds) + 1,
      processes: limits.max_pids + overhead.guestProcesses,
    },
    limits.mem_mb,
  );
  return {
    effective_limits: {
      wall_seconds: limits.wall_seconds,
      cpu_seconds: limits.cpu_seconds,
      mem_mb: (held.memoryBytes - overhead.memoryBytes) / MIB,
      max_pids: runtime.heldProcesses({ group: held.processes, guest: guest.processes }),
      max_file_mb: guest.fileBytes / MIB,
    },
    limit_enforcement: {
      wall_seconds: true,
      cpu_seconds: Number.isFinite(group.cpuMicroseconds()),
      mem_mb: held.memoryBytes <= wanted.memoryBytes,
      max_pids: held.processes <= wanted.processes,
      max_file_mb: guest.fileBytes <= limits.max_file_mb * MIB,
    },
  };
}
