/** How a cell comes to be and what is done to it: by an OCI runtime in `runtime-start.ts`, by a launcher in `../../launcher`. */
import type { GroupLimits, Measure } from '../../cgroup/cgroup.ts';
import type { Pipes } from '../../output/pipes.ts';
import type { Program } from '../../sandbox.ts';
import type { EndingReport } from '../ending-report.ts';
import type { ObservedPosture } from '../observe/observe.ts';

/** What the group of a cell is given before anything is in it. */
export interface Boot extends GroupLimits {
  /** Its part of the processors where others want them too: 1 is that of a job. */
  readonly share: number;
  /** What the buffers of its Internet sockets may hold; null if nothing else is to be counted. */
  readonly socketBytes: number | null;
}

/** A cell whose process 1 runs, or is about to. */
export interface Start {
  /** Resolves at the workload-ready boundary. Rejects with the reason if the cell ended before. */
  readonly ready: Promise<WaitingCell>;
  /** Resolves once process 1 has ended, or has nothing more to do. Never rejects. */
  readonly ended: Promise<void>;
  /** Kills what waits to be ready, so that `end` need not wait for it. */
  kill(): void;
  /** What it printed before its program ran, by who printed it, for an operator. */
  said(): readonly string[];
  /** Kills what is alive, and resolves once nothing of the cell is left: no process, no group, no file. */
  end(): Promise<void>;
}

/** What a job is to be held by: what process 1 or the launcher sets on the interpreter, and what the group holds. */
export interface WantedLimits {
  readonly fileBytes: number;
  readonly cpuSeconds: number;
  /** The resource limit of the interpreter, which counts processes of one user. */
  readonly guestProcesses: number;
  /** For Node alone. */
  readonly heapMb: number;
  /** Of the job, without what the runtime takes. */
  readonly memoryBytes: number;
  /** Of the group, with the processes that are not the job's. */
  readonly processes: number;
  /** Whether the cell gets the whole share of the processors now. */
  readonly takesShare: boolean;
}

/** What the kernel said when it was asked after they were set. */
export interface LimitsInForce {
  readonly guest: { readonly fileBytes: number; readonly processes: number };
  readonly group: GroupLimits;
  /** Memory of the runtime itself in the group, measured before the program: no use of the job's. */
  readonly ownMemoryBytes: number;
  /** Whether the waiting cell lives: one that takes more memory than its job may have is killed. */
  readonly fits: boolean;
  /** CPU time of the group until now. */
  readonly cpuMicroseconds: number;
}

/** How a program ended and what its group counted. */
export interface Over {
  readonly ending: EndingReport;
  readonly counted: Readonly<Record<UsageMeasure, number>>;
}

/** What is read of a group when its program is over. */
export const USAGE = [
  'cpuMicroseconds',
  'memoryPeakBytes',
  'oomKills',
  'processesRefused',
] as const satisfies readonly Measure[];
export type UsageMeasure = (typeof USAGE)[number];

/** All of it, each read by `read`. */
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
  /** Its `/work`, as the host reaches it before anything of a job is in it. */
  readonly work: string;
  /** What is really on in it. Throws, naming what is missing. */
  observe(): ObservedPosture;
  /** Memory that it holds, in bytes, as the kernel counts it for its group. */
  memoryBytes(): number;
  /** Whether everything that waits in it is alive. */
  isWhole(): boolean;
  /** Sets a job's limits and reads them back. Peak memory counts from here. */
  hold(wanted: WantedLimits): Promise<LimitsInForce>;
  /** Lets the program run with its words and its stdin. */
  release(program: Program): void;
  /** Kills everything in it. */
  kill(): void;
  /** Resolves once nothing of the program is alive. */
  over(): Promise<Over>;
}
