/**
 * Reads what process 1 of a cell says before any job exists: sections of /proc as the kernel inside shows them. Under
 * crun they are the host kernel's own words and are checked again from outside; under runsc there is no other witness.
 */
import type { SeccompMode } from '@svc/protocol';

/** As proc_pid_status(5) numbers them. */
const SECCOMP_MODES_BY_NUMBER: Readonly<Record<string, SeccompMode>> = {
  '0': 'disabled',
  '1': 'strict',
  '2': 'filter',
};

/** The report in parts. `status` and `mounts` are of the waiting interpreter. */
export interface GuestReport {
  readonly status: ReadonlyMap<string, string>;
  readonly mounts: readonly GuestMount[];
  readonly interfaces: readonly string[];
  readonly kernel: string;
  /** PR_GET_NO_NEW_PRIVS of process 1, which every child keeps; gVisor's /proc does not show it. */
  readonly noNewPrivileges: boolean | null;
  /** Inode names of the namespaces, as in `pid:[4026531836]`; absent where the kernel shows none. */
  readonly namespaces: ReadonlyMap<string, string>;
}

/** A line of mountinfo: where, what, and with which options of the mount and of its file system. */
export interface GuestMount {
  readonly path: string;
  readonly type: string;
  readonly options: ReadonlySet<string>;
}

/** Parses a report; unreadable sections come out empty, so that nothing is claimed of them. */
export function parseGuestReport(text: string): GuestReport {
  const sections = sectionsOf(text);
  const namespaces = [...sections].filter(([name, body]) => name.startsWith('ns/') && body.includes(':['));
  const flag = sections.get('no_new_privs')?.trim();
  return {
    status: parseStatus(sections.get('status') ?? ''),
    mounts: parseMountinfo(sections.get('mountinfo') ?? ''),
    interfaces: parseInterfaces(sections.get('/proc/net/dev') ?? ''),
    kernel: (sections.get('/proc/version') ?? '').trim(),
    noNewPrivileges: flag === '1' ? true : flag === '0' ? false : null,
    namespaces: new Map(namespaces.map(([name, body]) => [name.slice('ns/'.length), body.trim()])),
  };
}

/** Members of a /proc/PID/status (proc_pid_status(5)): name without colon → value. */
export function parseStatus(text: string): ReadonlyMap<string, string> {
  const members = text.split('\n').flatMap((line): [string, string][] => {
    const colon = line.indexOf(':');
    return colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1).trim()]];
  });
  return new Map(members);
}

/** The seccomp mode that a status tells; null where it tells none. */
export function seccompOf(status: ReadonlyMap<string, string>): SeccompMode | null {
  return SECCOMP_MODES_BY_NUMBER[status.get('Seccomp') ?? ''] ?? null;
}

/** The effective capability set that a status tells, as hex without leading zeros; null where it tells none. */
export function capabilitiesOf(status: ReadonlyMap<string, string>): string | null {
  const effective = status.get('CapEff');
  return effective === undefined ? null : BigInt(`0x${effective}`).toString(16);
}

/** Lines of a mountinfo (proc_pid_mountinfo(5)). */
export function parseMountinfo(text: string): readonly GuestMount[] {
  return text.split('\n').flatMap((line): GuestMount[] => {
    const [mount, fileSystem] = line.split(' - ');
    const fields = mount?.split(' ') ?? [];
    const path = fields[4];
    const [type, , superOptions] = fileSystem?.split(' ') ?? [];
    if (path === undefined || type === undefined) return [];
    return [{ path, type, options: new Set([...(fields[5] ?? '').split(','), ...(superOptions ?? '').split(',')]) }];
  });
}

function parseInterfaces(text: string): readonly string[] {
  return [...text.matchAll(/^\s*([^\s:|]+):/gm)].map((match) => match[1] as string);
}

function sectionsOf(text: string): ReadonlyMap<string, string> {
  const parts = text.split(/^==> (.+)\n/m).slice(1);
  const sections = new Map<string, string>();
  for (let at = 0; at + 1 < parts.length; at += 2) sections.set(parts[at] as string, parts[at + 1] as string);
  return sections;
}
