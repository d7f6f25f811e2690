/** Sets a job's limits on a cell. Returns the limits that the kernel then reports: a receipt may claim no others. */
import type { RequestedLimits } from '@vouchbox/protocol';
import { heapMb } from '../program/javascript-heap.ts';
import type { HeldLimits } from '../sandbox.ts';
import type { Runtime } from './runtime.ts';
import type { LimitsInForce, WantedLimits } from './start.ts';

const MIB = 1024 * 1024;
/**
 * The watch bounds the CPU time of all processes together. Each process also has a resource limit of this many times the job's
 * limit. The kernel counts the time of a process in ticks of a clock, and includes ticks in which a virtual machine got no
 * processor. A lower resource limit could end a program before the job's limit, and the job would count as failed.
 */
const cpuRoom = 4;
/** The resource limit in gVisor, because gVisor's clock runs several times too fast on a busy host. */
const CPU_SECONDS_UNLIMITED = 2 ** 31;

/**
 * The group limits memory and processes, including those of the runtime. The runtime's memory is measured while the interpreter
 * waits, and the group may have that much more. Memory that the runtime takes later counts as the job's. The interpreter's
 * resource limit bounds the file size, and the watch bounds wall clock and CPU time. Without a group, the group's numbers are
 * NaN: the resource limit alone bounds processes, and memory is only watched.
 */
export function wantedLimits(limits: RequestedLimits, runtime: Runtime, takesShare: boolean): WantedLimits {
  const { overhead, sharesHostKernel } = runtime;
  return {
    fileBytes: limits.max_file_mb * MIB,
    cpuSeconds: sharesHostKernel ? Math.ceil(cpuRoom * limits.cpu_seconds) + 1 : CPU_SECONDS_UNLIMITED,
    guestProcesses: limits.max_pids + overhead.guestProcesses,
    heapMb: heapMb(limits.mem_mb),
    memoryBytes: limits.mem_mb * MIB,
    processes: overhead.processes(limits.max_pids),
    takesShare,
  };
}

/** For each limit, the value in force and whether it is enforced. */
export function heldLimits(limits: RequestedLimits, inForce: LimitsInForce, runtime: Runtime): HeldLimits {
  const { asked, guest, group, ownMemoryBytes, cpuMicroseconds } = inForce;
  return {
    effective_limits: {
      wall_seconds: limits.wall_seconds,
      cpu_seconds: limits.cpu_seconds,
      mem_mb: Number.isNaN(group.memoryBytes) ? null : (group.memoryBytes - ownMemoryBytes) / MIB,
      max_pids: runtime.heldProcesses({ group: group.processes, guest: guest.processes }),
      max_file_mb: guest.fileBytes / MIB,
    },
    limit_enforcement: {
      wall_seconds: true,
      cpu_seconds: Number.isFinite(cpuMicroseconds),
      mem_mb: group.memoryBytes <= asked.memoryBytes + ownMemoryBytes,
      max_pids: !(group.processes > asked.processes) && guest.processes <= asked.guestProcesses,
      max_file_mb: guest.fileBytes <= asked.fileBytes,
    },
  };
}
