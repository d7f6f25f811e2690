/**
 * The service's own directory on the host: cells, roots and pipes, all of them gone with the machine and of no worth to
 * the next process. One instance has one, which its holder alone opens; whatever an earlier process of it left is killed
 * and removed before anything new is made. Nothing a job wrote is ever below it: a job's files live in a mount namespace
 * that ends with its cell.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { GroupRoot } from '../cgroup/cgroup.ts';

const PARENT = '/run/svc';

/** The name of an instance's groups and directory, which is the same after every restart. `instance` is any text. */
export function instanceName(instance: string): string {
  return `svc-${createHash('sha256').update(instance).digest('hex').slice(0, 12)}`;
}

/** Where the directory of an instance is, by its name. */
export function runDirectoryOf(name: string): string {
  return join(PARENT, name);
}

/** Ends what an earlier process left, then makes the directory anew, for root alone. Returns its path. */
export async function openRunDirectory(name: string, groups: GroupRoot): Promise<string> {
  await Promise.all(groups.names().map((group) => groups.open(group).remove()));
  const path = runDirectoryOf(name);
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true, mode: 0o711 });
  return path;
}
