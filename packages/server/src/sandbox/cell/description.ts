/**
 * Describes a cell: the commands that wait inside it, and everything that confines them. The description is a pure function of
 * its options, and is the same however the cell is made. It states only what was requested; the protections that are really on
 * are observed in the running cell.
 */
import { LIMIT_DEFAULTS, librariesBytesMax } from '@vouchbox/protocol';
import { runscSeccompProfile, type SeccompProfile, seccompProfile } from '../kernel/seccomp/seccomp.ts';
import { heapOption } from '../program/javascript-heap.ts';
import { ENVIRONMENT, FIXED_SEEDS, type LanguageRun } from '../program/language-runs.ts';
import { runOf } from '../program/stages.ts';
import type { CellKind } from '../sandbox.ts';
import { toolWords } from './tool-files.ts';

/** The user id with which a program runs inside its cell. */
export const JOB_UID = 1000;

/** Paths inside a cell. `/svc` holds only the service's own files, read-only. */
export const GUEST = {
  work: '/work',
  report: '/svc/report',
  guest: '/svc/guest',
  init: '/svc/init',
  filter: '/svc/filter',
  libraries: '/libraries',
  node: '/opt/svc/bin/node',
} as const;

/** The command that runs each guest program. `/opt/svc/bin/node` is the Node that the service runs on. */
const GUEST_COMMANDS: Readonly<Record<LanguageRun['guest'], readonly string[]>> = {
  'launch.py': ['/usr/bin/python3', '-I', '-u'],
  'launch.cjs': [GUEST.node, heapOption(LIMIT_DEFAULTS.mem_mb)],
  'launch.sh': ['/bin/bash', '--norc', '--noprofile'],
};

/** Python that reads a fixed hash seed from a variable. `-I` would ignore it; `launch.py` isolates this Python in another way. */
const SEEDED_PYTHON = ['/usr/bin/python3', '-s', '-u'];

/** The commands that wait in a cell: one to run the program and, for a compiled language, one to compile it. */
function waitingCommands({ sharesHostKernel, hasTools, hasLibraries, ...kind }: DescriptionOptions) {
  const run = runOf(kind);
  const { guest, command, compiler, source } = run;
  const interpreter = kind.reproducible && guest === 'launch.py' ? SEEDED_PYTHON : GUEST_COMMANDS[guest];
  const waiting = (words: readonly string[]) => [...interpreter, `${GUEST.guest}/${guest}`, ...words];
  // gVisor may accept only a part of a long write.
  const python = sharesHostKernel ? [] : ['whole-writes'];
  const words = { 'launch.cjs': [source], 'launch.py': python, 'launch.sh': command }[guest];
  return {
    program: waiting([
      ...words,
      ...(hasTools ? toolWords(run) : []),
      ...(hasLibraries ? [librariesWord(GUEST.libraries)] : []),
    ]),
    compiler: compiler === null ? [] : waiting(compiler),
  };
}

/** The word that tells a waiting interpreter where to unpack its job's libraries. */
export function librariesWord(place: string): string {
  return `libraries=${place}`;
}

export interface MountPoint {
  readonly source: string;
  readonly destination: string;
}

export interface DescriptionOptions extends Omit<CellKind, 'runtime' | 'owner'> {
  /** Whether programs use the host's kernel. */
  readonly sharesHostKernel: boolean;
  /** The cell's own tmpfs on the host: `rootfs`, `work` and `report` inside it. */
  readonly cell: string;
  /** Read-only trees: those of the runtime pack, the first of them at `/usr`, and our guest programs. */
  readonly binds: readonly MountPoint[];
  /** The runtime pack's additions to the fixed environment, as `NAME=VALUE`. */
  readonly environment: readonly string[];
  /** The host's user that is root in the cell. The job's user has the next number. */
  readonly rootUid: number;
  readonly temporaryBytes: number;
  /** Whether programs may reach one another over `lo`. */
  readonly loopback: boolean;
  /** Whether process 1 runs as the same user as the program. */
  readonly oneUser?: boolean;
  /** Whether the cell's memory is only watched, because the cell has no group. */
  readonly watchesMemory?: boolean;
}

export interface CellMount {
  readonly destination: string;
  readonly type: string;
  readonly source: string;
  readonly options: readonly string[];
}

export interface CellDescription {
  /** The command that waits to run the program and, for a compiled language, the command that compiles the program. */
  readonly program: readonly string[];
  readonly compiler: readonly string[];
  readonly environment: readonly string[];
  /** Resource limits, by name without `RLIMIT_`. */
  readonly resources: Readonly<Record<keyof typeof RESOURCES, number>>;
  readonly mounts: readonly CellMount[];
  readonly maskedPaths: readonly string[];
  readonly readonlyPaths: readonly string[];
  readonly seccomp: SeccompProfile;
}

export function describeCell(options: DescriptionOptions): CellDescription {
  return {
    ...waitingCommands(options),
    environment: [...ENVIRONMENT, ...(options.reproducible ? FIXED_SEEDS : []), ...options.environment],
    resources: RESOURCES,
    mounts: mountsOf(options),
    maskedPaths: MASKED_PATHS,
    readonlyPaths: READONLY_PATHS,
    seccomp: options.sharesHostKernel ? seccompProfile(options) : runscSeccompProfile(options),
  };
}

/** Limits on each process, a second bound beside the cgroup. File size, CPU time and processes are limited at the hand-over. */
const RESOURCES = {
  NOFILE: 256,
  CORE: 0,
  STACK: 8 * 1024 * 1024,
  MEMLOCK: 64 * 1024,
  MSGQUEUE: 800 * 1024,
  SIGPENDING: 256,
  NICE: 0,
  RTPRIO: 0,
} as const;

/** Process 1 writes control-group files here that state the memory limit, because gVisor has no such files. */
const SHOWN_GROUPS: CellMount = {
  destination: '/sys/fs/cgroup',
  type: 'tmpfs',
  source: 'tmpfs',
  options: ['nosuid', 'noexec', 'nodev', 'mode=755', 'size=64k', 'nr_inodes=8'],
};

/**
 * The unpacked content is bounded in bytes and in entries (`guest/unpack.py`). This file system has more inodes than the content
 * may have entries, for other files that the interpreter writes here.
 */
const LIBRARIES = tmpfs(GUEST.libraries, [
  'nosuid',
  'nodev',
  'mode=1777',
  `size=${librariesBytesMax}`,
  'nr_inodes=65536',
]);

/** Options for the cell's terminals (`/dev/ptmx`). A cell gets only a few: the kernel limits those of all cells together. */
const TERMINALS = ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', 'max=16'];

function mountsOf(options: DescriptionOptions): CellMount[] {
  const flags = ['nosuid', 'nodev'];
  return [
    // Read-only: nobody needs to write there, and a program could otherwise lower its own out-of-memory score.
    { destination: '/proc', type: 'proc', source: 'proc', options: ['ro', 'nosuid', 'noexec', 'nodev'] },
    tmpfs('/dev', ['nosuid', 'noexec', 'strictatime', 'mode=755', 'size=64k', 'nr_inodes=64']),
    tmpfs('/dev/shm', ['nosuid', 'noexec', 'nodev', 'mode=1777', 'size=16m', 'nr_inodes=1024']),
    { destination: '/dev/pts', type: 'devpts', source: 'devpts', options: TERMINALS },
    tmpfs('/tmp', [...flags, 'mode=1777', `size=${options.temporaryBytes}`, 'nr_inodes=4096']),
    ...(options.hasLibraries ? [LIBRARIES] : []),
    ...options.binds.map(({ source, destination }) =>
      bind(source, destination, ['ro', ...flags, ...(destination === GUEST.guest ? ['noexec'] : [])]),
    ),
    ...(options.sharesHostKernel ? [] : [SHOWN_GROUPS]),
    bind(`${options.cell}/report`, GUEST.report, ['rw', ...flags, 'noexec']),
    bind(`${options.cell}/work`, GUEST.work, ['rw', ...flags]),
    bind(`${options.cell}/work/input`, `${GUEST.work}/input`, ['ro', ...flags, 'noexec']),
  ];
}

function tmpfs(destination: string, options: readonly string[]): CellMount {
  return { destination, type: 'tmpfs', source: 'tmpfs', options };
}

function bind(source: string, destination: string, options: readonly string[]): CellMount {
  return { destination, type: 'bind', source, options: ['rbind', 'private', ...options] };
}

/** Kernel files that reveal facts about the host. */
const MASKED_PATHS = [
  ...`acpi allocinfo asound bootconfig buddyinfo bus cgroups cmdline config.gz consoles crypto devices diskstats dma driver
    execdomains fb filesystems fs interrupts iomem ioports irq kallsyms kcore key-users keys kmsg kpagecgroup kpagecount
    kpageflags latency_stats locks mdstat misc modules mtrr pagetypeinfo partitions pressure sched_debug schedstat scsi
    slabinfo softirqs swaps sysvipc timer_list timer_stats tty vmallocinfo vmstat zoneinfo
    sys/fs/aio-nr sys/fs/dentry-state sys/fs/file-nr sys/fs/inode-nr sys/fs/inode-state sys/fs/quota
    sys/kernel/keys sys/kernel/pty sys/kernel/random/entropy_avail`
    .split(/\s+/)
    .map((name) => `/proc/${name}`),
  '/sys/devices/virtual/dmi',
  '/sys/devices/virtual/powercap',
  '/sys/firmware',
];

/** Kernel files that control the host. */
const READONLY_PATHS = 'sys sysrq-trigger dynamic_debug'.split(' ').map((name) => `/proc/${name}`);
