/**
 * Observes which protections are really on in a cell. It reads them from the kernel after the bootstrap and before any
 * job: for crun from outside through the host's /proc, for runsc from gVisor's own kernel. A cell that lacks a
 * protection of its class is refused. Nothing here reads the configuration. Spec § Receipt, § Job detail.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { capabilitiesOf, parseStatus, type Status, seccompOf } from '../../kernel/process-status.ts';
import { hasOneUser, isRootOfHost } from '../../kernel/user-namespace/mapped-users.ts';
import type { Posture } from '../../sandbox.ts';
import { JOB_UID } from '../description.ts';
import { type GuestMount, type GuestReport, parseMountinfo } from './guest-report.ts';

const NAMESPACES = ['mnt', 'pid', 'net', 'ipc', 'uts', 'user', 'cgroup'] as const;

/** The members of a posture that are observed in the cell. The runtime is known without observation. */
export type ObservedPosture = Pick<
  Posture,
  | 'isolation_class'
  | 'private_rootfs'
  | 'dedicated_bootstrap'
  | 'seccomp'
  | 'no_new_privileges'
  | 'capabilities'
  | 'network_allowed'
  | 'networking'
>;

/**
 * The host kernel's view of a namespace cell from outside: text from /proc, under the names that `report.c` uses.
 */
export interface CellReport {
  /** `init/status`, `status`, `mountinfo`, `/proc/net/dev` or `ns/NAME`. Empty if it could not be read. */
  section(name: string): string;
  /** Whether a compiler waits beside the interpreter: then there is a section `compiler/status`. */
  readonly hasCompiler: boolean;
}

/** Reads the report of a cell under a runtime. The runtime's only child is process 1, which starts the compiler first. */
export function readCellReport(runtimePid: number): CellReport {
  const [init] = childrenOf(runtimePid, 1);
  const [first, second] = childrenOf(init, 2);
  const interpreter = second ?? first;
  const files: Readonly<Record<string, string>> = {
    'init/status': `${init}/status`,
    'compiler/status': `${first}/status`,
    status: `${interpreter}/status`,
    mountinfo: `${interpreter}/mountinfo`,
    '/proc/net/dev': `${interpreter}/net/dev`,
  };
  return {
    hasCompiler: second !== undefined,
    section(name) {
      if (name.startsWith('ns/')) return readlinkSync(`/proc/${interpreter}/${name}`);
      const file = files[name];
      return file === undefined ? '' : readFileSync(`/proc/${file}`, 'utf8');
    },
  };
}

/** Observes a namespace cell from outside. Throws, naming every protection that is missing. */
export function observeNamespaceCell(report: CellReport): ObservedPosture {
  const status = parseStatus(report.section('status'));
  const init = parseStatus(report.section('init/status'));
  const { privateRootfs, missingOfMounts } = observeMounts(report.section('mountinfo'));
  const missing: string[] = NAMESPACES.filter((name) => !isPrivate(report, name)).map(
    (name) => `own ${name} namespace`,
  );
  const isOtherUser = uidsOf(init) !== uidsOf(status);
  const dedicatedBootstrap = init.get('NSpid')?.split(/\s+/).at(-1) === '1' && (isOtherUser || hasOneUser());
  const interfaces = report.section('/proc/net/dev').match(/^\s*[^\s:|]+:/gm) ?? [];
  const offline = interfaces.length > 0 && interfaces.every((name) => name.trim() === 'lo:');
  missing.push(...missingOfMounts);
  if (!dedicatedBootstrap) missing.push('a bootstrap process of another user');
  if (!offline) missing.push('a network namespace without interfaces');
  missing.push(...missingCredentials(status, isOneOrdinaryUser(status)), ...missingOfCompiler(report));
  if (status.get('NoNewPrivs') !== '1') missing.push('no-new-privileges');
  if (missing.length > 0) throw new Error(`missing: ${missing.join(', ')}`);
  return {
    isolation_class: 'linux-shared-kernel',
    private_rootfs: privateRootfs,
    dedicated_bootstrap: dedicatedBootstrap,
    seccomp: seccompOf(status),
    no_new_privileges: status.get('NoNewPrivs') === '1',
    capabilities: capabilitiesOf(status),
    network_allowed: !offline,
    networking: offline ? 'disabled' : null,
  };
}

interface ObservedMounts {
  readonly privateRootfs: boolean;
  readonly missingOfMounts: readonly string[];
}

/** Results for earlier cells, keyed by mount lines without mount and device numbers, because those differ in each cell. */
const mountsSeen = new Map<string, ObservedMounts>();
const mountsSeenMax = 16;

/** Examines mounts. Cells of one kind have the same lines, so each set of lines is examined once. */
function observeMounts(mountinfo: string): ObservedMounts {
  const lines = mountinfo.replaceAll(/^\d+ \d+ \d+:\d+ /gm, '');
  const seen = mountsSeen.get(lines);
  if (seen !== undefined) return seen;
  const mounts = parseMountinfo(mountinfo);
  const root = mounts.find((mount) => mount.path === '/');
  const privateRootfs = root?.has('ro') === true && root.has('nosuid') && root.has('nodev');
  const missing = [...missingMountFlags(mounts), ...foreignInodes(mounts)];
  const missingOfMounts = privateRootfs ? missing : ['a read-only root of its own', ...missing];
  if (mountsSeen.size >= mountsSeenMax) mountsSeen.clear();
  mountsSeen.set(lines, { privateRootfs, missingOfMounts });
  return { privateRootfs, missingOfMounts };
}

/**
 * Observes a runsc cell through the kernel that answers inside it. Also checks that this kernel is not the host's: it must report
 * another version, and none of its processes may be one of the host's.
 */
export function observeGvisorCell(report: GuestReport): ObservedPosture {
  const hostKernel = readFileSync('/proc/version', 'utf8').trim();
  const root = report.mounts.find((mount) => mount.path === '/');
  const privateRootfs = root?.has('ro') === true;
  const dedicatedBootstrap = report.status.get('PPid') === '1';
  const offline = report.interfaces.every((name) => name === 'lo');
  const missing = missingCredentials(report.status, uidsOf(report.status) === String(JOB_UID));
  if (report.kernel === '' || report.kernel === hostKernel) missing.push("a kernel other than the host's");
  if (!privateRootfs) missing.push('a read-only root');
  missing.push(...missingMountFlags(report.mounts, SHOWN_BY_GVISOR));
  if (!dedicatedBootstrap) missing.push('a bootstrap process');
  if (!offline) missing.push('a network without interfaces');
  if (report.noNewPrivileges !== true) missing.push('no-new-privileges');
  if (missing.length > 0) throw new Error(`missing: ${missing.join(', ')}`);
  return {
    isolation_class: 'gvisor-application-kernel',
    private_rootfs: privateRootfs,
    dedicated_bootstrap: dedicatedBootstrap,
    seccomp: seccompOf(report.status),
    no_new_privileges: report.noNewPrivileges,
    capabilities: capabilitiesOf(report.status),
    network_allowed: !offline,
    networking: offline ? 'disabled' : null,
  };
}

/**
 * Flags without which a program could escape through a mount. Some runtimes silently drop them from a bind mount in a
 * user namespace.
 */
const MOUNT_FLAGS: Readonly<Record<string, readonly string[]>> = {
  '/usr': ['ro', 'nosuid', 'nodev'],
  '/proc': ['ro', 'nosuid', 'nodev', 'noexec'],
  '/work': ['nosuid', 'nodev'],
  '/work/input': ['ro', 'nosuid', 'nodev', 'noexec'],
  '/tmp': ['nosuid', 'nodev'],
  '/dev/shm': ['nosuid', 'nodev', 'noexec'],
  '/dev/pts': ['nosuid', 'noexec'],
  '/svc/report': ['nosuid', 'nodev', 'noexec'],
  '/svc/guest': ['ro', 'nosuid', 'nodev', 'noexec'],
};

/** The mount flags that gVisor shows. `nosuid` and `nodev` are missing: a gVisor cell gets no new privileges or host devices. */
const SHOWN_BY_GVISOR: ReadonlySet<string> = new Set(['ro', 'noexec']);

/** The flags that are not on. If a kernel does not show all flags, only those in `shown` are checked. */
function missingMountFlags(mounts: readonly GuestMount[], shown?: ReadonlySet<string>): string[] {
  return Object.entries(MOUNT_FLAGS).flatMap(([path, flags]) => {
    const mount = mounts.find((candidate) => candidate.path === path);
    return flags
      .filter((flag) => shown === undefined || shown.has(flag))
      .filter((flag) => !mount?.has(flag))
      .map((flag) => `${flag} on ${path}`);
  });
}

/** File systems that are made for each cell. */
const OF_ONE_CELL: ReadonlySet<string> = new Set(['devpts', 'overlay', 'proc', 'tmpfs']);

/** The host's devices that a cell in a user namespace sees, because no device can be made there: `DEVICES` in `mounts.c`. */
const SHOWN_DEVICES: ReadonlySet<string> = new Set(
  ['null', 'zero', 'full', 'random', 'urandom', 'tty'].map((name) => `/dev/${name}`),
);

/**
 * Mounts whose inodes other cells share. A watch or a lock on a shared inode reveals what other cells do. Only root of the host
 * can make devices, so cells in a user namespace share the devices of the host (docs/THREATS.md).
 */
function foreignInodes(mounts: readonly GuestMount[]): string[] {
  return mounts
    .filter(({ type, path }) => !OF_ONE_CELL.has(type) && (isRootOfHost() || !SHOWN_DEVICES.has(path)))
    .map(({ path }) => `inodes of its own on ${path}`);
}

function missingCredentials(status: Status, ownUser: boolean): string[] {
  const missing: string[] = [];
  if (!ownUser) missing.push('an unprivileged user of its own');
  // If only one user is mapped, setgroups(2) is denied, so the user keeps its groups. No file in a cell belongs to these groups.
  if ((status.get('Groups') ?? '').trim() !== '' && !hasOneUser()) missing.push('no supplementary groups');
  for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd']) {
    if (!/^0+$/.test(status.get(set) ?? '')) missing.push(`empty ${set}`);
  }
  if (status.get('Seccomp') !== '2') missing.push('a seccomp filter');
  return missing;
}

/** Real, effective, saved and file system user; one number if all four are equal. */
function uidsOf(status: Status): string {
  return [...new Set((status.get('Uid') ?? '').split(/\s+/))].join(' ');
}

/** The protections that the compiler lacks. It reads the job's source, so it must have no more rights than the program. */
function missingOfCompiler(report: CellReport): string[] {
  if (!report.hasCompiler) return [];
  const status = parseStatus(report.section('compiler/status'));
  return missingCredentials(status, isOneOrdinaryUser(status)).map((what) => `${what} for the compiler`);
}

function isOneOrdinaryUser(status: Status): boolean {
  return (uidsOf(status) !== '0' || hasOneUser()) && !uidsOf(status).includes(' ');
}

/** The service's own namespaces, which it never leaves. */
const ownNamespaces = new Map<string, string>();

function ownNamespace(name: string): string {
  const known = ownNamespaces.get(name) ?? readlinkSync(`/proc/self/ns/${name}`);
  ownNamespaces.set(name, known);
  return known;
}

/** Whether a namespace is the cell's own. A value that could not be read proves nothing. */
function isPrivate(report: CellReport, name: string): boolean {
  const found = report.section(`ns/${name}`).trim();
  return found.startsWith(`${name}:[`) && found !== ownNamespace(name);
}

/** The children of a process, in the order in which it started them: at least one, and at most `most`. */
function childrenOf(pid: number, most: number): [number, ...number[]] {
  const [first, ...others] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number);
  if (first === undefined || others.length >= most) {
    throw new Error(
      `process ${pid} has ${first === undefined ? 0 : others.length + 1} children where ${most} is expected`,
    );
  }
  return [first, ...others];
}
