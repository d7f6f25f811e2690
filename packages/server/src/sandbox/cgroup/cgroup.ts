/**
 * A control group of one cell: made before anything untrusted runs, joined by the runtime before it starts, read for what
 * is effective and what was used, and the one handle by which everything of a cell is killed.
 */

/** The limits of a group, in the units of the kernel. */
export interface GroupLimits {
  readonly memoryBytes: number;
  readonly processes: number;
}

/** What a group has that was just made. */
export const UNLIMITED: GroupLimits = { memoryBytes: Number.POSITIVE_INFINITY, processes: Number.POSITIVE_INFINITY };

/** Where a group is: plain data, by which another thread opens it (`open-group.ts`). */
export type GroupLocation =
  | { readonly version: 'v1'; readonly paths: V1Paths }
  | { readonly version: 'v2'; readonly directory: string };

/** Directories of one v1 group: those that are read, and all of them. */
export interface V1Paths {
  readonly memory: string;
  readonly pids: string;
  readonly cpuacct: string;
  readonly cpu: string | null;
  readonly all: readonly string[];
}

/** What can be read of a group, each as one number. */
export type Measure =
  | 'memoryLimitBytes'
  | 'processesLimit'
  /** CPU time of everything that was ever in the group. */
  | 'cpuMicroseconds'
  | 'memoryPeakBytes'
  /** Memory in use, with that of files and of the kernel. */
  | 'memoryBytes'
  /** How many processes the kernel killed for want of memory. */
  | 'oomKills'
  /** How many forks were refused by the process limit. */
  | 'processesRefused';

/** A file of a group, in one of its directories, by number. */
export interface GroupFile {
  readonly directory: number;
  readonly file: string;
}

/** Where a number is read, and how it is found in what is read there. */
export interface Reading extends GroupFile {
  readonly parse: (text: string) => number;
}

/** A value for one file of a group. */
export interface Writing extends GroupFile {
  readonly value: number;
}

/**
 * Which files hold what. Whoever can reach the directories of a group follows it: the service itself, or a launcher that
 * is told.
 */
export interface GroupPlan {
  readonly readings: Readonly<Record<Measure, Reading>>;
  /** In this order. `now` are the limits in force: one that stays as it is is not written again. */
  toLimit(limits: GroupLimits, now: GroupLimits): readonly Writing[];
  /** Its part of the processors where other groups want them too; 1 is that of a job. Empty if nothing shares them out. */
  toShare(part: number): readonly Writing[];
  /** Bounds the memory of network sockets, in bytes. Empty if the kernel counts it with the rest. */
  toLimitSockets(bytes: number): readonly Writing[];
  /** Starts peak memory anew from the present use. Empty if the kernel cannot. */
  readonly toResetPeak: readonly Writing[];
}

/** One cell's group on either cgroup version. Every number is read from the kernel when asked for. */
export interface Group {
  readonly location: GroupLocation;
  /** Every directory of it, one for each hierarchy. */
  readonly directories: readonly string[];
  readonly plan: GroupPlan;
  /** Files that a process of one thread writes `0` to, in order, to be held by this group: it and all it starts. */
  readonly joinFiles: readonly string[];
  /** Makes it, in every hierarchy or in none. */
  make(): void;
  read(measure: Measure): number;
  /** Does what a part of the plan says. */
  write(writings: readonly Writing[]): void;
  /** Sets both limits and returns what the kernel then says they are. */
  limit(limits: GroupLimits): GroupLimits;
  /** Memory in use that is no file's, of this host or of a file system in memory: that of processes and of the kernel. */
  anonymousBytes(): number;
  /** Host ids of everything alive in the group. */
  members(): readonly number[];
  /** Kills everything in the group; new processes cannot escape it. Returns at once. */
  kill(): void;
  /** Kills, waits until nothing is alive, and removes the group. Rejects if that takes longer than ten seconds. */
  remove(): Promise<void>;
}

/** Where groups are made on this host. */
export interface GroupRoot {
  readonly version: 'v1' | 'v2';
  /** A v2 mount beside v1 controllers: crun refuses to start where it sees one. */
  readonly hybridMount: string | null;
  create(name: string): Group;
  /** Names of the groups that exist, whoever made them. */
  names(): readonly string[];
  /** A group by its name, whether or not it exists. */
  open(name: string): Group;
  /** Removes the directory of all groups; they must be gone. */
  dispose(): void;
}
