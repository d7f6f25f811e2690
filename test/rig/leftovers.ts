/**
 * What a service left on the host, as the kernel shows it. Everything that belongs to a service has a name that contains
 * the service's instance name. This name is made from the content of the data directory.
 */
import { createHash } from 'node:crypto';
import { existsSync, globSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The instance name in the names of a service's groups, directories and mounts. The data directory must exist. */
export function instanceOf(dataDir: string): string {
  const path = join(dataDir, 'instance-id');
  return nameOf(`${readFileSync(path, 'latin1').trimEnd()}:${statSync(path).ino}`);
}

function nameOf(instance: string): string {
  return `svc-${createHash('sha256').update(instance).digest('hex').slice(0, 12)}`;
}

/** Everything on this host that still belongs to the service with this data directory; empty if the service cleaned up. */
export function leftoversOf(dataDir: string): string[] {
  // The name of a provider without a service is made from the provider's directory.
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

/** Processes that are in one of the service's groups, were started from its directories, or hold one of its mounts. */
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

/** The text of a file in /proc; empty if the process has ended. */
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
