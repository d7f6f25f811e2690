/**
 * Reads the report that a cell's process 1 makes before any job exists: sections of /proc as the cell's kernel shows them. In the
 * namespace class that is the host's kernel, and the values are checked again from outside. In gVisor there is no other source.
 */
import { parseStatus, type Status } from '../../kernel/process-status.ts';

/** The report in parts. `status` and `mounts` describe the waiting interpreter. */
export interface GuestReport {
  readonly status: Status;
  readonly mounts: readonly GuestMount[];
  readonly interfaces: readonly string[];
  readonly kernel: string;
  /** PR_GET_NO_NEW_PRIVS of process 1. Every child keeps this setting; gVisor's /proc does not show it. */
  readonly noNewPrivileges: boolean | null;
}

/** A line of mountinfo: a mount point and its file system. */
export interface GuestMount {
  readonly path: string;
  readonly type: string;
  /** Whether an option of the mount or of its file system is on. */
  has(option: string): boolean;
}

/** Parses a report. Unreadable sections are empty, so that nothing is claimed from them. */
export function parseGuestReport(text: string): GuestReport {
  const sections = sectionsOf(text);
  const flag = sections.get('no_new_privs')?.trim();
  return {
    status: parseStatus(sections.get('status') ?? ''),
    mounts: parseMountinfo(sections.get('mountinfo') ?? ''),
    interfaces: parseInterfaces(sections.get('/proc/net/dev') ?? ''),
    kernel: (sections.get('/proc/version') ?? '').trim(),
    noNewPrivileges: flag === '1' ? true : flag === '0' ? false : null,
  };
}

/** Lines of a mountinfo (proc_pid_mountinfo(5)). */
export function parseMountinfo(text: string): readonly GuestMount[] {
  const mounts: GuestMount[] = [];
  for (const line of text.split('\n')) {
    const [mount = '', fileSystem = ''] = line.split(' - ');
    const [, , , , path, options] = mount.split(' ', 6);
    const [type, , ofFileSystem] = fileSystem.split(' ', 3);
    if (path === undefined || type === undefined || type === '') continue;
    const all = `,${options},${ofFileSystem},`;
    mounts.push({ path, type, has: (option) => all.includes(`,${option},`) });
  }
  return mounts;
}

function parseInterfaces(text: string): readonly string[] {
  return [...text.matchAll(/^\s*([^\s:|]+):/gm)].map((match) => match[1] as string);
}

/** The sections of a report, by name. A section is the text after a line `==> NAME`. */
export function sectionsOf(text: string): ReadonlyMap<string, string> {
  const parts = text.split(/^==> (.+)\n/m).slice(1);
  const sections = new Map<string, string>();
  for (let at = 0; at + 1 < parts.length; at += 2) sections.set(parts[at] as string, parts[at + 1] as string);
  return sections;
}
