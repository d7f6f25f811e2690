/**
 * The leftovers of a service on the host, as the kernel shows them. Everything of one service has a name that contains
 * the instance name of the service, which is made from the content of its data directory.
 */
import { createHash } from 'node:crypto';
import { existsSync, globSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The instance name of a service, which its groups, directories and mounts contain. Its data directory must exist. */
export function instanceOf(dataDir: string): string {
  const path = join(dataDir, 'instance-id');
  return nameOf(`${readFileSync(path, 'latin1').trimEnd()}:${statSync(path).ino}`);
}

function nameOf(instance: string): string {
  return `svc-${createHash('sha256').update(instance).digest('hex').slice(0, 12)}`;
}

/** Everything on this host that still belongs to the service of a data directory; none if it cleaned up. */
export function leftoversOf(dataDir: string): string[] {
  // The name of a provider without a service is made from its directory.
  const served = existsSync(join(dataDir, 'instance-id')) ? [instanceOf(dataDir)] : [];
  const names = [...served, nameOf(dataDir), dataDir];
  return [...groups(names), ...directories(names), ...processes(names)];
}

function groups(names: readonly string[]): string[] {
  return names.flatMap((name) => [
    ...globSync(`/sys/fs/cgroup/{,*/,*/*/}${name}*/**/`, { withFileTypes: false }).map((path) => `cgroup ${path}`),
  ]);
}

function directories(names: readonly string[]): string[] {
  return names.flatMap((name) => globSync(`/run/svc/${name}*`).map((path) => `directory ${path}`));
}

/** Processes that are in a group of the service, were started from its directories, or hold one of its mounts. */
function processes(names: readonly string[]): string[] {
  const mine = readlinkSync('/proc/self/ns/mnt');
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((pid) => {
      const isElsewhere = linkOf(`/proc/${pid}/ns/mnt`) !== mine;
      const books = ['cgroup', 'cmdline', ...(isElsewhere || pid === String(process.pid) ? ['mountinfo'] : [])];
      const found = books.find((book) => names.some((name) => textOf(`/proc/${pid}/${book}`).includes(name)));
      return found === undefined
        ? []
        : [`process ${pid} (${found}): ${textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`];
    });
}

/** The text of a file in /proc; empty if its process has ended. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
