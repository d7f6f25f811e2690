/**
 * The control group of one cell. It is made before untrusted code runs, and a process joins it before it becomes the runtime. The
 * limits in force and the usage are read from the group, and the cell's processes are killed through it.
 */

/** The limits of a group, in the units of the kernel. */
export interface GroupLimits {
  readonly memoryBytes: number;
  readonly processes: number;
}

/** The limits of a new group. */
export const UNLIMITED: GroupLimits = { memoryBytes: Number.POSITIVE_INFINITY, processes: Number.POSITIVE_INFINITY };

/** Where a group is, as plain data from which another thread can open it (`open-group.ts`). */
export type GroupLocation =
  | { readonly version: 'v1'; readonly paths: V1Paths }
  | { readonly version: 'v2'; readonly directory: string }
  /** No group: process 1 of a cell and the processes below it. */
  | { readonly version: 'none'; readonly first: number };

/** The directories of one v1 group, by controller. `all` has each directory once, though controllers may share one. */
export interface V1Paths {
  readonly memory: string;
  readonly pids: string;
  readonly cpuacct: string;
  readonly cpu: string | null;
  readonly all: readonly string[];
}

/** The numbers that can be read from a group. */
export type Measure =
  | 'memoryLimitBytes'
  | 'processesLimit'
  /** CPU time of all processes that were ever in the group. */
  | 'cpuMicroseconds'
  /** NaN where the kernel keeps no peak: cgroup v2 before Linux 5.19. */
  | 'memoryPeakBytes'
  /** Memory in use, including files and kernel memory. */
  | 'memoryBytes'
  /** Processes and threads that are alive. */
  | 'processes'
  /** How many processes the kernel killed for lack of memory. */
  | 'oomKills'
  /** How many forks were refused by the process limit. */
  | 'processesRefused';

/** A control-group file. `directory` is the index of the group's directory. */
export interface GroupFile {
  readonly directory: number;
  readonly file: string;
}

/** The file that contains a number, and the function that reads the number from the file's text. */
export interface Reading extends GroupFile {
  readonly parse: (text: string) => number;
}

/** The file of each number; null if no file contains the number. */
export type Readings = Readonly<Record<Measure, Reading | null>>;

/** The readings of a real control group, as opposed to a tree of processes. Some kernels keep no memory peak. */
export type KernelReadings = Readonly<Record<Exclude<Measure, 'memoryPeakBytes'>, Reading>> &
  Pick<Readings, 'memoryPeakBytes'>;

/** A value for one file of a group. */
export interface Writing extends GroupFile {
  readonly value: number;
}

/** Plans which files of a group are read and written. The service carries the plan out, or tells a launcher to do so. */
export interface GroupPlan {
  readonly readings: Readings;
  /** The values to write for these limits, in order. `now` has the present limits: an unchanged limit is not written again. */
  toLimit(limits: GroupLimits, now: GroupLimits): readonly Writing[];
  /** Sets the group's share of the processors when others want them too; a job's share is 1. Empty if shares cannot be set. */
  toShare(part: number): readonly Writing[];
  /** Bounds the memory of network sockets, in bytes. Empty if the kernel counts it with the other memory of the group. */
  toLimitSockets(bytes: number): readonly Writing[];
  /** Resets the peak memory to the present use. Empty if the kernel cannot do this. */
  readonly toResetPeak: readonly Writing[];
}

/** The plan of a real control group. */
export type KernelPlan = GroupPlan & { readonly readings: KernelReadings };

/**
 * One cell's group on either cgroup version, or its processes where there are no groups. Every number is read from the kernel
 * when it is requested.
 */
export interface Group {
  readonly location: GroupLocation;
  /** The directories of the group, one for each hierarchy. */
  readonly directories: readonly string[];
  readonly plan: GroupPlan;
  /** Files to which a process with one thread writes `0`, in this order, to put itself and all that it starts into this group. */
  readonly joinFiles: readonly string[];
  /** Makes the group, in every hierarchy or in none. */
  make(): void;
  read(measure: Measure): number;
  /** Carries out a part of the plan. */
  write(writings: readonly Writing[]): void;
  /** Sets both limits and returns those that the kernel then reports. */
  limit(limits: GroupLimits): GroupLimits;
  /** Memory in use without the pages of files on disk: under a lower limit, the kernel would take these pages back. */
  unreclaimableBytes(): number;
  /** Memory in use that belongs to no file, neither on disk nor in a tmpfs: the memory of processes and of the kernel. */
  anonymousBytes(): number;
  /** Whether the group has more memory than this. Always false if the kernel enforces the limit. */
  hasMoreThan(memoryBytes: number): boolean;
  /** Sets process 1 of the cell; set null before the id of process 1 can be reused. A real control group ignores both calls. */
  adopt(first: number | null): void;
  /** Host ids of all processes in the group, or at least of process 1. */
  members(): readonly number[];
  /**
   * Kills the processes in the group. Whatever they fork meanwhile ends with process 1 of the cell. No fork is refused,
   * because refused forks are counted as the program's. Returns at once.
   */
  kill(): void;
  /** Kills all processes, waits until none is alive, and removes the group. Rejects if that takes longer than ten seconds. */
  remove(): Promise<void>;
}

/** The place where groups are made on this host. */
export interface GroupRoot {
  readonly version: GroupLocation['version'];
  /** A v2 mount beside v1 controllers: crun refuses to start if it sees one. */
  readonly hybridMount: string | null;
  create(name: string): Group;
  /** Names of the groups that exist, whoever made them. */
  names(): readonly string[];
  /** A group by its name, whether or not it exists. */
  open(name: string): Group;
  /** Removes the directory of all groups; they must be gone. */
  dispose(): void;
}
