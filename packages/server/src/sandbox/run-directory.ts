/**
 * The service's own directory on the host: cells, roots and pipes, all of them gone with the machine and of no worth to
 * the next process. One service, which is one data directory, has one; whatever an earlier process of it left is killed
 * and removed before anything new is made. Nothing a job wrote is ever below it: a job's files live in a mount namespace
 * that ends with its cell.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { GroupRoot } from './cgroup/cgroup.ts';

const PARENT = '/run/svc';

/** A name for the service's groups and directory that is the same after every restart. */
export function instanceName(dataDirectory: string): string {
  return `svc-${createHash('sha256').update(dataDirectory).digest('hex').slice(0, 12)}`;
}

/** Ends what an earlier process left, then makes the directory anew, for root alone. Returns its path. */
export async function openRunDirectory(instance: string, groups: GroupRoot): Promise<string> {
  await Promise.all(groups.names().map((name) => groups.open(name).remove()));
  const path = join(PARENT, instance);
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true, mode: 0o711 });
  return path;
}
