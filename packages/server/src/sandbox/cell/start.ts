/**
 * The interface by which a cell is made and used. `classes/oci/runtime-start.ts` implements it with an OCI runtime,
 * `classes/namespace/forked-start.ts` with a launcher.
 */
import type { GroupLimits, Measure } from '../kernel/cgroup/cgroup.ts';
import type { Pipes } from '../program/output/pipes.ts';
import type { Program } from '../sandbox.ts';
import type { EndingReport } from './ending-report.ts';
import type { ObservedPosture } from './observe/observe.ts';
import type { ProcessLimits } from './process-limits.ts';

/** The limits of a cell's group before any process is in it. */
export interface Boot extends GroupLimits {
  /** The cell's share of the processors when others want them too; a job's share is 1. */
  readonly share: number;
  /** The bound on the buffers of Internet sockets; null if the kernel counts them as the group's memory. */
  readonly socketBytes: number | null;
}

/** A cell whose process 1 runs or will soon run. */
export interface Start {
  /** Resolves at the workload-ready boundary. Rejects with the reason if the cell ended before that. */
  readonly ready: Promise<WaitingCell>;
  /** Resolves once process 1 has ended, or has nothing more to do. Never rejects. */
  readonly ended: Promise<void>;
  /** Kills the processes that are not ready yet, so that `end` need not wait for them. */
  kill(): void;
  /** The output of each part of the cell before the program ran, for the operator. */
  said(): readonly string[];
  /** Kills all processes of the cell, and resolves once no process, group or file of the cell is left. */
  end(): Promise<void>;
}

/** The limits to set for a job: those that process 1 or the launcher sets on the interpreter, and those of the group. */
export interface WantedLimits {
  readonly fileBytes: number;
  readonly cpuSeconds: number;
  /** The interpreter's resource limit on processes. It counts the processes of one user. */
  readonly guestProcesses: number;
  /** The size of the heap, only for Node. */
  readonly heapMb: number;
  /** The job's memory, without the runtime's. */
  readonly memoryBytes: number;
  /** The group's bound, including processes that are not the job's. */
  readonly processes: number;
  /** Whether the cell gets the whole share of the processors now. */
  readonly takesShare: boolean;
}

/** The limits that the kernel reported after they were set. */
export interface LimitsInForce {
  readonly guest: ProcessLimits;
  readonly group: GroupLimits;
  /** The limits that were set, raised where the waiting cell already used more than a wanted limit. */
  readonly asked: Pick<WantedLimits, 'fileBytes' | 'guestProcesses' | 'memoryBytes' | 'processes'>;
  /** Memory of the runtime itself in the group, measured before the program runs. It does not count as the job's. */
  readonly ownMemoryBytes: number;
  /** Whether the waiting cell is alive, and was not killed for its memory. */
  readonly fits: boolean;
  /** CPU time of the group until now. */
  readonly cpuMicroseconds: number;
}

/** The end of a program and the counts of its group. */
export interface Over {
  readonly ending: EndingReport;
  readonly counted: Readonly<Record<UsageMeasure, number>>;
}

/** The numbers that are read from a group when its program is over. */
export const USAGE = [
  'cpuMicroseconds',
  'memoryPeakBytes',
  'oomKills',
  'processesRefused',
] as const satisfies readonly Measure[];
export type UsageMeasure = (typeof USAGE)[number];

/** The usage of a cell. `read` reads one of its measures. */
export function usageOf(read: (measure: UsageMeasure) => number): Over['counted'] {
  return {
    cpuMicroseconds: read('cpuMicroseconds'),
    memoryPeakBytes: read('memoryPeakBytes'),
    oomKills: read('oomKills'),
    processesRefused: read('processesRefused'),
  };
}

/** A cell at the workload-ready boundary. Its steps are taken in this order, each at most once. */
export interface WaitingCell {
  readonly pipes: Pipes;
  /** The path of its `/work` on the host, before any file of a job is in it. */
  readonly work: string;
  /** Observes the cell's protections. Throws, naming those that are missing. */
  observe(): ObservedPosture;
  /** The cell's memory in bytes, as the kernel counts it for its group. */
  memoryBytes(): number;
  /** Whether all processes that wait in the cell are alive. */
  isWhole(): boolean;
  /**
   * Sets a job's limits, but none below the cell's present usage, and reads them back. If the kernel can restart its count of
   * peak memory, that count begins here.
   */
  hold(wanted: WantedLimits): Promise<LimitsInForce>;
  /** Lets the program run with its arguments, its variables and its stdin. */
  release(program: Program): void;
  /** Kills everything in the cell. */
  kill(): void;
  /** Resolves once nothing of the program is alive. */
  over(): Promise<Over>;
}
