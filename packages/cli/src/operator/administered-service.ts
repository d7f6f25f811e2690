/**
 * Finds the service whose data a command administers. If the service is running, its data directory is found as well, so the
 * user need not know the directory. It is printed unless an option named it. No directory is ever made.
 */
import { accessSync, constants, realpathSync } from 'node:fs';
import {
  type Config,
  type FoundService,
  holdsData,
  loadConfig,
  OperatorError,
  runningServices,
  withoutPassword,
} from '@vouchbox/server/administration';
import { serverEnvironment } from '../service/environment.ts';

/** The settings that say where a service's data is, named like their flags. */
export interface DataOptions {
  readonly dataDir?: string;
  readonly databaseUrl?: string;
  readonly runtimePacksDir?: string;
}

/**
 * The settings of a service: the one that the options or the environment name, else the one that runs on this host, else the one
 * whose data is in the default place. Prints the data directory on stderr unless an option named it.
 *
 * @throws OperatorError if no service is named, and either none or several are found
 */
export async function administeredService(options: DataOptions): Promise<Config> {
  const config = await locate(options);
  if (options.dataDir === undefined) process.stderr.write(`vouchbox: data directory ${config.dataDir}\n`);
  return config;
}

/** The administered service, or the given settings if no service is found. */
export async function administeredServiceIfAny(options: DataOptions): Promise<Config> {
  const given = givenSettings(options);
  if (isNamed(options)) return given;
  const found = candidates(given, await runningServices());
  return found.length === 1 ? settingsOf(options, found[0] as FoundService) : given;
}

async function locate(options: DataOptions): Promise<Config> {
  const given = givenSettings(options);
  const running = await runningServices();
  const named = running.find((service) => isSame(service.dataDir, given.dataDir));
  if (isNamed(options)) return named === undefined ? given : settingsOf(options, named);
  const found = candidates(given, running);
  const [only] = found;
  if (only === undefined) throw nothingFound(given.dataDir);
  if (found.length > 1) {
    throw new OperatorError(`there are several services: ${found.map(({ dataDir }) => dataDir).join(', ')}`, {
      hint: 'say which with --data-dir or SERVICE_DATA_DIR',
    });
  }
  return settingsOf(options, only);
}

/** The error if no service is found. An ordinary user cannot see other users' services or their data. */
function nothingFound(dataDir: string): OperatorError {
  const hint = 'give --data-dir or SERVICE_DATA_DIR';
  if (process.geteuid?.() === 0)
    return new OperatorError(`no service runs here, and ${dataDir} has no data of a service`, { hint });
  const found = isClosed(dataDir) ? 'cannot be read' : 'has no data of a service';
  return new OperatorError(`no service of this user runs here, and ${dataDir} ${found}`, {
    hint: `${hint}, or run this as the user of the service, usually root`,
  });
}

function isClosed(directory: string): boolean {
  try {
    accessSync(directory, constants.R_OK | constants.X_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/** The possible services: only the default one if it runs; otherwise all running ones, and the default one if it has data. */
function candidates(given: Config, running: readonly FoundService[]): readonly FoundService[] {
  if (given.databaseUrl !== null) {
    const shown = withoutPassword(given.databaseUrl);
    const served = running.filter(({ databaseUrl }) => databaseUrl === shown);
    return served.length === 0 ? [given] : served;
  }
  const own = running.find(({ dataDir }) => isSame(dataDir, given.dataDir));
  if (own !== undefined) return [own];
  return holdsData(given.dataDir) ? [...running, given] : running;
}

function isNamed({ dataDir }: DataOptions): boolean {
  return Boolean(dataDir ?? serverEnvironment()['SERVICE_DATA_DIR']);
}

function givenSettings(options: DataOptions, found: DataOptions = {}): Config {
  return loadConfig(serverEnvironment(), {
    'data-dir': options.dataDir ?? found.dataDir,
    'database-url': options.databaseUrl ?? found.databaseUrl,
    'runtime-packs-dir': options.runtimePacksDir ?? found.runtimePacksDir,
  });
}

/** The service's settings. Options take precedence over what the service said about itself. */
function settingsOf(options: DataOptions, found: FoundService): Config {
  const { SERVICE_DATABASE_URL, SERVICE_RUNTIME_PACKS_DIR } = serverEnvironment();
  const databaseUrl = SERVICE_DATABASE_URL || found.databaseUrl;
  const runtimePacksDir = SERVICE_RUNTIME_PACKS_DIR || found.runtimePacksDir;
  return givenSettings(options, {
    dataDir: found.dataDir,
    ...(databaseUrl !== null && { databaseUrl }),
    ...(runtimePacksDir !== null && { runtimePacksDir }),
  });
}

/** Whether two paths lead to the same directory. */
export function isSame(one: string, other: string): boolean {
  return one === other || realPath(one) === realPath(other);
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
