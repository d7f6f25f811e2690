/**
 * The system call filter of a cell. What it does not allow is refused with an ordinary error and never with a kill, so that
 * a program that tries something unusual reads `EPERM` instead of dying. What it does not know at all is answered with
 * `ENOSYS`, as by an older kernel: a libc that is newer than this list then takes another way.
 */
import { allBut, allow, equals, matches, type Rule, refuse } from './seccomp-rule.ts';
import { allowedOptions, allowedSockets, OPTION_CALLS, refusedSockets, SOCKET_CALLS } from './socket-rules.ts';
import { ALLOWED_CALLS, REFUSED_CALLS, UNKNOWN_CALLS } from './system-calls.ts';

const ENOSYS = 38;
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET: a thread or a child, but no new namespace. */
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
 * They write out what every other job and the host have changed, too. Under the host's own kernel they succeed and do
 * nothing: no file of a cell outlives a crash of the host. gVisor's own kernel knows the files of one cell alone.
 */
const SYNC_CALLS = ['sync', 'syncfs'];

/** Calls that are allowed for some arguments only. */
const ARGUED_CALLS = ['clone', 'personality', ...SOCKET_CALLS];

const allowedWithArguments: readonly Rule[] = [
  ...PERSONALITIES.map((value) => allow(['personality'], equals(0, value))),
  allow(['clone'], matches(0, sum(CLONE_NEW_NAMESPACES), 0)),
];

/**
 * What a terminal may be asked that reaches further than itself: input from the side (TIOCSTI), and another line discipline
 * (TIOCSETD), for which the kernel loads a module.
 */
const TERMINAL_REFUSALS = [0x5412, 0x5423];
const devices: readonly Rule[] = [
  ...allBut(TERMINAL_REFUSALS).map(({ mask, value }) => allow(['ioctl'], matches(1, mask, value))),
  ...TERMINAL_REFUSALS.map((value) => refuse(['ioctl'], matches(1, 0xffffffff, value))),
];

/** Whether the cells have a loopback: sockets of the Internet families then exist. */
export interface FilterOptions {
  readonly loopback: boolean;
}

/** The one architecture a program may call the kernel in: 32-bit and x32 entry points end with SIGSYS. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'SCMP_ARCH_X86_64', arm64: 'SCMP_ARCH_AARCH64' };

/**
 * The profile for crun and other runtimes on libseccomp, which drops rules for names that it does not know, as every version
 * does of calls that are newer. A call that is allowed with some arguments has a rule for each of its refusals, too.
 * `clone3` answers ENOSYS, because its flags are in memory where a filter cannot see them: libc falls back to `clone`.
 */
export function seccompProfile({ loopback }: FilterOptions, architecture: string = process.arch): SeccompProfile {
  const apart = ['ioctl', ...SYNC_CALLS, ...(loopback ? OPTION_CALLS : [])];
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: ENOSYS,
    architectures: architecturesOf(architecture),
    syscalls: [
      allow(ALLOWED_CALLS.filter((name) => !apart.includes(name))),
      { names: SYNC_CALLS, action: 'SCMP_ACT_ERRNO', errnoRet: 0 },
      ...devices,
      ...allowedWithArguments,
      ...allowedSockets(loopback),
      ...(loopback ? allowedOptions : []),
      refuse(REFUSED_CALLS),
      ...CLONE_NEW_NAMESPACES.map((value) => refuse(['clone'], matches(0, value, value))),
      ...refusedSockets(loopback),
      { names: UNKNOWN_CALLS, action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
    ],
  };
}

/**
 * Calls that gVisor has in part, or answers with an EPERM of its own where it has them not: nobody should take that for a
 * refusal of ours.
 */
const MISSING_IN_GVISOR: ReadonlySet<string> = new Set(
  'ioprio_get ioprio_set mq_open mq_unlink sched_rr_get_interval sched_setparam'.split(' '),
);
/** What runsc of 2022 calls `pselect6`. */
const OLD_NAMES = ['pselect'];

/**
 * The profile for runsc, which applies it inside its own kernel: the first rule that fits decides. It drops rules for names
 * that it does not know without a word. It knows no errno but EPERM: ENOSYS is what seccomp(2) answers to a traced call that
 * nobody traces, and no program may trace another.
 */
export function runscSeccompProfile({ loopback }: FilterOptions, architecture: string = process.arch): SeccompProfile {
  const names = [...ALLOWED_CALLS.filter((name) => !MISSING_IN_GVISOR.has(name)), ...OLD_NAMES];
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
