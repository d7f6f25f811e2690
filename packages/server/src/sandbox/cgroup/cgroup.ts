/**
 * A control group of one cell: made before anything untrusted runs, joined by the runtime before it starts, read for what
 * is effective and what was used, and the one handle by which everything of a cell is killed.
 */

/** The limits of a group, in the units of the kernel. */
export interface GroupLimits {
  readonly memoryBytes: number;
  readonly processes: number;
}

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

/** One cell's group on either cgroup version. Every number is read from the kernel when asked for. */
export interface Group {
  readonly location: GroupLocation;
  /** Files that a process of one thread writes `0` to, in order, to be held by this group: it and all it starts. */
  readonly joinFiles: readonly string[];
  /** Sets both limits and returns what the kernel then says they are. */
  limit(limits: GroupLimits): GroupLimits;
  /**
   * Sets its part of the processors where other groups want them too; 1 is that of a job. Without effect where nothing
   * shares them out.
   */
  share(part: number): void;
  /** Bounds the memory of network sockets, in bytes, where the kernel does not count it with the rest. */
  limitSockets(bytes: number): void;
  /** CPU time of everything that was ever in the group, in microseconds. */
  cpuMicroseconds(): number;
  /** Starts peak memory anew from the present use, where the kernel can. */
  resetPeak(): void;
  memoryPeakBytes(): number;
  /** Memory in use, with that of files and of the kernel. */
  memoryBytes(): number;
  /** Memory in use that is no file's, of this host or of a file system in memory: that of processes and of the kernel. */
  anonymousBytes(): number;
  /** How many processes the kernel killed for want of memory. */
  oomKills(): number;
  /** How many forks were refused by the process limit. */
  processesRefused(): number;
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
  /** Opens an existing group, to kill and remove what an earlier process left. */
  open(name: string): Group;
  /** Removes the directory of all groups; they must be gone. */
  dispose(): void;
}
