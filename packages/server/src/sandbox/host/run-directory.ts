/**
 * The service's own directory on the host, with cells, roots and pipes. It does not outlive the boot, and the next
 * process does not need its content. Each instance has one, which only its holder opens. Everything that an earlier
 * process of the instance left is killed and removed before anything new is made. No file of a job is ever below it: a
 * job's files are in a mount namespace that ends with its cell.
 */

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '@vouchbox/evidence';
import type { GroupRoot } from '../cgroup/cgroup.ts';

const PARENT = '/run/svc';

/** The name of an instance's groups and directory, the same after every restart. `instance` is any text. */
export function instanceName(instance: string): string {
  return `svc-${sha256Hex(instance).slice(0, 12)}`;
}

/** Where the directory of an instance is, by its name. */
export function runDirectoryOf(name: string): string {
  return join(PARENT, name);
}

/** Ends what an earlier process left, then makes a new directory that only root can use. Returns its path. */
export async function openRunDirectory(name: string, groups: GroupRoot): Promise<string> {
  await Promise.all(groups.names().map((group) => groups.open(group).remove()));
  const path = runDirectoryOf(name);
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true, mode: 0o711 });
  return path;
}
