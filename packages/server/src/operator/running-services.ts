/**
 * The services that run on this host, for their operator's commands. Each service records where its data is, in a directory that
 * only the service's user may write to. A service counts as running while it answers on its operator's socket.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withoutPassword } from '../ground/without-password.ts';
import { instanceName, runDirectory, runDirectoryOfUser } from '../sandbox/kernel/host/run-directory.ts';
import type { Config } from '../settings/config.ts';
import { readInstance } from './instance.ts';
import { isServed } from './socket/ask-service.ts';

/** The data directory of a running service. Paths are absolute, and the URL has no password. */
export type RunningService = Pick<Config, 'dataDir' | 'databaseUrl' | 'runtimePacksDir'>;

const ENTRY = /^(svc-[0-9a-f]{12})\.json$/;

/** Records that this service runs, if its data directory has an instance id. Disposing removes the record. @throws StartError */
export function announceService({ dataDir, databaseUrl, runtimePacksDir }: RunningService): Disposable {
  const directory = announcements();
  const instance = readInstance(dataDir);
  if (instance === null) return { [Symbol.dispose]: () => {} };
  mkdirSync(directory, { recursive: true, mode: 0o711 });
  const path = join(directory, `${instanceName(instance)}.json`);
  const shown = databaseUrl === null ? null : withoutPassword(databaseUrl);
  const text = JSON.stringify({ dataDir, databaseUrl: shown, runtimePacksDir } satisfies RunningService);
  writeFileSync(`${path}.new`, `${text}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
}

/**
 * The services that run here and that this user may administer. Records of killed services or of services elsewhere do
 * not count.
 *
 * @throws StartError if the directory for the records cannot be made, or somebody else made it
 */
export async function runningServices(): Promise<readonly RunningService[]> {
  const directory = announcements();
  const names = existsSync(directory) ? readdirSync(directory) : [];
  const found = await Promise.all(names.map((name) => runningService(directory, name)));
  return found.filter((service) => service !== null);
}

async function runningService(directory: string, name: string): Promise<RunningService | null> {
  const [, expected] = ENTRY.exec(name) ?? [];
  if (expected === undefined) return null;
  try {
    const service = JSON.parse(readFileSync(join(directory, name), 'utf8')) as RunningService;
    const instance = readInstance(service.dataDir);
    // In another mount namespace, the same path leads to another service's data.
    if (instance === null || instanceName(instance) !== expected) return null;
    return (await isServed(service.dataDir)) ? service : null;
  } catch {
    return null;
  }
}

/** The directory for the records. @throws StartError if it cannot be made, or somebody else has already made it */
function announcements(): string {
  const user = process.geteuid?.() ?? 0;
  return user === 0 ? runDirectory() : runDirectoryOfUser(user);
}
