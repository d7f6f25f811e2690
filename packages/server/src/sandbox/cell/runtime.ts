/** A runtime that makes cells, and everything that is chosen for a cell before it exists. */
import type { Backend, IsolationClass, Language, RuntimeIdentity } from '@vouchbox/protocol';
import type { Group } from '../kernel/cgroup/cgroup.ts';
import type { CellKind } from '../sandbox.ts';
import type { Pack } from './pack.ts';
import type { Boot, Start } from './start.ts';

/** Host resources that a runtime itself takes in a cell's group. They do not count against the job. */
export interface Overhead {
  /** The most memory that the runtime may take, for planning before a cell exists. The real amount is measured. */
  readonly memoryBytes: number;
  /** How many host processes and threads the runtime takes for a job of `max_pids`. */
  readonly processes: (maxPids: number) => number;
  /**
   * By how much RLIMIT_NPROC exceeds `max_pids`. In the namespace class it is higher, so that the group's limit is reached first:
   * the group refuses new processes and counts the refusals. In gVisor it is one lower: after an interpreter has changed its
   * user, gVisor still counts it under the former user, so one of the job's processes is not counted.
   */
  readonly guestProcesses: number;
}

export interface Runtime extends AsyncDisposable {
  readonly name: 'crun' | 'runsc' | 'svc-launcher';
  readonly backend: Backend;
  readonly isolation_class: IsolationClass;
  readonly path: string;
  readonly identity: RuntimeIdentity;
  /** Whether programs use the host's kernel. If so, each cell gets its own inodes for files of the host. */
  readonly sharesHostKernel: boolean;
  readonly overhead: Overhead;
  /**
   * Names the template from which this owner's cells are copied at present; null if there is no template, as in most cases. With
   * `isAsked`, the call counts as a request and may begin a template.
   */
  templateOf(options: TemplateRequest): string | null;
  /** Makes the group of a cell and starts process 1, which is in that group from its first instruction. */
  start(options: CellOptions, boot: Boot): Start;
  /**
   * How many bytes of a waiting cell's memory belong to the runtime and not to the interpreter. In gVisor the memory of programs
   * is a file in memory, and all other memory belongs to the sentry and the gofer. For other runtimes it is 0.
   */
  ownMemoryBytes(group: Group): number;
  /** The job's process limit in force: the group's in a namespace cell with a group, else the interpreter's resource limit. */
  heldProcesses(held: { readonly group: number; readonly guest: number }): number;
}

/** The owner, language and pack of the cells that a template serves. `cell` gives the options of such a cell. */
export interface TemplateRequest {
  readonly language: Language;
  readonly pack: Pack;
  readonly owner: string;
  readonly isAsked: boolean;
  readonly cell: () => CellOptions;
}

/** A name, users and a group, like those of a cell, for a runtime's own use. Disposing this removes the group. */
export interface ReservedCell extends AsyncDisposable {
  readonly id: string;
  readonly rootUid: number;
  readonly group: Group;
}

export interface CellOptions extends Omit<CellKind, 'runtime'> {
  readonly hasTools: boolean;
  readonly hasLibraries: boolean;
  readonly id: string;
  readonly runtime: Runtime;
  readonly pack: Pack;
  readonly group: Group;
  /** The cell's own directory on the host, which does not exist yet. */
  readonly directory: string;
  readonly rootfs: string;
  readonly rootUid: number;
  readonly hybridMount: string | null;
  /** The most that a job can write below `/work`. */
  readonly workBytes: number;
  readonly hostPostureSha256: string | null;
  /** Whether programs may reach one another over `lo`. */
  readonly loopback: boolean;
  /** How long the bootstrap may take. */
  readonly readyMilliseconds: number;
  /** Reserves the resources of a launcher's template. */
  readonly reserve: () => ReservedCell;
  /** Until this aborts, the cell gets a small share of the processors. */
  readonly aheadUntil?: AbortSignal | undefined;
}
