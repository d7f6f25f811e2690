/**
 * The system call filter of a cell. It refuses calls with an ordinary error and never kills, so that a program that
 * tries something unusual gets `EPERM` instead of dying. A call that the filter does not know gives `ENOSYS`, as on an
 * older kernel, so that a libc that is newer than this list falls back to another call.
 */
import { allBut, allow, equals, exceeds, matches, type Rule, refuse } from './seccomp-rule.ts';
import { allowedOptions, allowedSockets, OPTION_CALLS, refusedSockets, SOCKET_CALLS } from './socket-rules.ts';
import { ALLOWED_CALLS, REFUSED_CALLS, UNKNOWN_CALLS } from './system-calls.ts';

const ENOSYS = 38;
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET: programs make threads and children, but no namespaces. */
const CLONE_NEW_NAMESPACES = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000];
/** PER_LINUX, and the query that changes nothing. */
const PERSONALITIES = [0, 0xffffffff];

/** `linux.seccomp` of an OCI configuration (OCI runtime specification, config-linux § Seccomp). */
export interface SeccompProfile {
  readonly defaultAction: 'SCMP_ACT_ERRNO' | 'SCMP_ACT_TRACE';
  readonly defaultErrnoRet?: number;
  readonly architectures: readonly string[];
  readonly syscalls: readonly Rule[];
}

/**
 * These calls also write out the changes of every other job and of the host. Under the host's own kernel they therefore
 * succeed without doing anything, which is safe because no file of a cell outlives a crash of the host. gVisor's own
 * kernel only knows the files of one cell.
 */
const SYNC_CALLS = ['sync', 'syncfs'];

/** Calls that are allowed only for some arguments. */
const ARGUED_CALLS = ['clone', 'personality', ...SOCKET_CALLS];

const allowedWithArguments: readonly Rule[] = [
  ...PERSONALITIES.map((value) => allow(['personality'], equals(0, value))),
  allow(['clone'], matches(0, sum(CLONE_NEW_NAMESPACES), 0)),
];

/**
 * Requests to a terminal that act beyond it: injected input (TIOCSTI), and another line discipline (TIOCSETD), for
 * which the kernel loads a module.
 */
const TERMINAL_REFUSALS = [0x5412, 0x5423];
const devices: readonly Rule[] = [
  ...allBut(TERMINAL_REFUSALS).map(({ mask, value }) => allow(['ioctl'], matches(1, mask, value))),
  ...TERMINAL_REFUSALS.map((value) => refuse(['ioctl'], matches(1, 0xffffffff, value))),
];

/**
 * Calls that give a process memory without mapping it. If no group counts memory, the service cannot see this memory, so these
 * calls are then unknown to programs.
 */
const UNSEEN_MEMORY_CALLS = ['memfd_create', 'shmget', 'shmat', 'msgget', 'mq_open'];

/** Whether the cells have a loopback: sockets of the Internet families then exist. */
export interface FilterOptions {
  readonly loopback: boolean;
}

/** The options, and whether programs use the host's kernel or gVisor's. */
export interface KernelFilterOptions extends FilterOptions {
  readonly sharesHostKernel: boolean;
  /** Whether the program has the user of process 1, and all cells have one user. */
  readonly oneUser?: boolean;
  /** Whether memory is only watched, because no group limits it. */
  readonly watchesMemory?: boolean;
}

/** F_SETPIPE_SZ. The kernel counts the pipes of a user together, and so the pipes of all cells that run as this user. */
const PIPE_SIZE = 1031;

/**
 * Calls by which a process could end or starve another process of the same user. A program may read the limits of every
 * process, but set only its own: a limit of processor time on process 1 would end the cell. `capset` is allowed:
 * process 1 gives up its capabilities with it, and a process without capabilities gains none by it.
 */
const ONE_USER_CALLS = ['fcntl', 'prlimit64'];
const oneUserRules: readonly Rule[] = [
  allow(['capset']),
  allow(['prlimit64'], equals(0, 0)),
  allow(['prlimit64'], equals(2, 0)),
  refuse(['prlimit64'], exceeds(0, 0), exceeds(2, 0)),
  ...allBut([PIPE_SIZE]).map(({ mask, value }) => allow(['fcntl'], matches(1, mask, value))),
  refuse(['fcntl'], matches(1, 0xffffffff, PIPE_SIZE)),
];

/** The only architecture in which a program may call the kernel. Calls through 32-bit and x32 entry points end with SIGSYS. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'SCMP_ARCH_X86_64', arm64: 'SCMP_ARCH_AARCH64' };

/**
 * Calls that gVisor has only in part, or refuses with its own EPERM because it lacks them. They must not look like
 * refusals of this filter.
 */
const MISSING_IN_GVISOR: readonly string[] =
  'ioprio_get ioprio_set mq_open mq_unlink sched_rr_get_interval sched_setparam'.split(' ');

/**
 * The profile for crun, the launcher and other users of libseccomp. Every version of libseccomp drops rules for calls that are
 * newer than itself. A call that is allowed with some arguments also has rules for its refusals. `clone3` answers ENOSYS, because
 * its flags are in memory where a filter cannot see them: libc falls back to `clone`.
 */
export function seccompProfile(
  { loopback, sharesHostKernel, oneUser = false, watchesMemory = false }: KernelFilterOptions,
  architecture: string = process.arch,
): SeccompProfile {
  const ofHost = ['ioctl', ...SYNC_CALLS, ...(loopback ? OPTION_CALLS : [])];
  const unseen = watchesMemory ? UNSEEN_MEMORY_CALLS : [];
  const apart = [...(sharesHostKernel ? ofHost : MISSING_IN_GVISOR), ...(oneUser ? ONE_USER_CALLS : []), ...unseen];
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: ENOSYS,
    architectures: architecturesOf(architecture),
    syscalls: [
      allow(ALLOWED_CALLS.filter((name) => !apart.includes(name))),
      ...(sharesHostKernel ? hostRules(loopback) : []),
      ...(oneUser ? oneUserRules : []),
      ...allowedWithArguments,
      ...allowedSockets(loopback),
      refuse(REFUSED_CALLS.filter((name) => !oneUser || name !== 'capset')),
      ...CLONE_NEW_NAMESPACES.map((value) => refuse(['clone'], matches(0, value, value))),
      ...refusedSockets(loopback),
      { names: [...UNKNOWN_CALLS, ...unseen], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
    ],
  };
}

/** The rules for calls that reach beyond a cell only if the cell's kernel is the host's. */
function hostRules(loopback: boolean): readonly Rule[] {
  const syncs = { names: SYNC_CALLS, action: 'SCMP_ACT_ERRNO', errnoRet: 0 } as const;
  return [syncs, ...devices, ...(loopback ? allowedOptions : [])];
}

/** The name that the runsc of 2022 has for `pselect6`. */
const OLD_NAMES = ['pselect'];

/**
 * The profile for runsc. runsc applies it inside its own kernel: the first rule that fits decides. It silently drops rules for
 * names that it does not know. Its only errno is EPERM. To get ENOSYS, a rule traces the call: seccomp(2) returns ENOSYS for a
 * traced call without a tracer, and no program may trace another.
 */
export function runscSeccompProfile({ loopback }: FilterOptions, architecture: string = process.arch): SeccompProfile {
  const names = [...ALLOWED_CALLS.filter((name) => !MISSING_IN_GVISOR.includes(name)), ...OLD_NAMES];
  return {
    defaultAction: 'SCMP_ACT_TRACE',
    architectures: architecturesOf(architecture),
    syscalls: [
      allow(names),
      ...allowedWithArguments,
      ...allowedSockets(loopback),
      refuse([...REFUSED_CALLS, ...ARGUED_CALLS]),
    ],
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function architecturesOf(architecture: string): readonly string[] {
  const name = ARCHITECTURES[architecture];
  if (name === undefined) throw new Error(`no system call profile for ${architecture}`);
  return [name];
}
