/**
 * The service's own directory on the host, with cells, roots and pipes. It does not outlive the boot, and the next process does
 * not need its content. Each instance has its own directory; only the holder of the instance opens it. Everything that an earlier
 * process of the instance left is killed and removed before anything new is made. No file of a job is ever below the directory: a
 * job's files are in a mount namespace that ends with its cell.
 */

import { lstatSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sha256Hex } from '@vouchbox/evidence';
import { mayWrite } from '../../../ground/may-write.ts';
import { StartError } from '../../../ground/start-error.ts';
import type { GroupRoot } from '../cgroup/cgroup.ts';
import { ownerOutside } from '../user-namespace/mapped-users.ts';

const OF_ROOT = '/run/svc';
/** The directory of an ordinary user's service, by the user's number. systemd makes its parent (pam_systemd(8)). */
const ofUser = (user: number) => `/run/user/${user}/svc`;

/** The name of an instance's groups and directory, the same after every restart. `instance` is any text. */
export function instanceName(instance: string): string {
  return `svc-${sha256Hex(instance).slice(0, 12)}`;
}

/** Where the directory of an instance is, by its name. */
export function runDirectoryOf(name: string): string {
  return join(runDirectory(), name);
}

/**
 * The directory of all services of this user: `/run/svc` if this process is root of the host or may write there, else
 * `runDirectoryOfUser` of the user who is root of this user namespace.
 *
 * @throws StartError if that directory cannot be made, or somebody else made it before
 */
export function runDirectory(): string {
  const owner = ownerOutside();
  return owner === null || mayWrite(OF_ROOT) ? OF_ROOT : runDirectoryOfUser(owner);
}

/**
 * The directory of all services of an ordinary user, the same inside and outside of their user namespaces.
 *
 * @throws StartError if it cannot be made, or somebody else made it before
 */
export function runDirectoryOfUser(user: number): string {
  return mayWrite(dirname(ofUser(user))) ? ofUser(user) : ownDirectory(join(tmpdir(), `svc-${user}`));
}

const SET_TMPDIR = 'set TMPDIR to a directory of this user';

/** Requires a directory that only this user can access: others may have made a directory or a link at this path. */
function ownDirectory(path: string): string {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST') throw new StartError(message, { hint: SET_TMPDIR, cause: error });
  }
  const found = lstatSync(path);
  if (!found.isDirectory() || found.uid !== process.geteuid?.() || (found.mode & 0o077) !== 0) {
    throw new StartError(`${path} must be a directory that only this user can access`, {
      hint: `remove it, or ${SET_TMPDIR}`,
    });
  }
  return path;
}

/** Ends what an earlier process left, then makes a new directory that only root can use. Returns its path. */
export async function openRunDirectory(name: string, groups: GroupRoot): Promise<string> {
  await Promise.all(groups.names().map((group) => groups.open(group).remove()));
  const path = runDirectoryOf(name);
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true, mode: 0o711 });
  return path;
}
