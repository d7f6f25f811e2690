/**
 * Which service this is, on a host that may run several. A service's control groups and run directory are named after a file in
 * its data directory, not after the directory's path. Two services in different mount namespaces may have data directories with
 * the same path, and with the same name they would kill each other's jobs.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StartError } from '../ground/start-error.ts';
import { instanceName, runDirectoryOf } from '../sandbox/kernel/host/run-directory.ts';
import { ProcessLock } from '../store/sqlite/files/process-lock.ts';

const FILE_NAME = 'instance-id';
const ID = /^[0-9a-f]{32}\n$/;

/** A service's name, held on this host until it is disposed. */
export interface Instance extends Disposable {
  /** The text from which `instanceName` makes the name. */
  readonly id: string;
}

/**
 * Opens the instance in an existing data directory, and names it if it has no name yet.
 *
 * @param options whether the service makes cells; only then is its name taken on this host
 * @throws StartError if the instance's file or `/run/svc` cannot be used, or another service holds the name on this host
 */
export function openInstance(dataDir: string, { makesCells = true } = {}): Instance {
  const id = readInstance(dataDir) ?? makeInstance(dataDir);
  // Only groups and cells need a name on the host, and only root can make them.
  if (!makesCells || process.geteuid?.() !== 0) return { id, [Symbol.dispose]: () => {} };
  const name = `${runDirectoryOf(instanceName(id))}.lock`;
  const lock = takeName(name);
  if (lock === null) {
    const holder = ProcessLock.holderOf(name);
    const asProcess = holder === null ? '' : `, as process ${holder}`;
    throw new StartError(`a service with the data of ${dataDir} runs on this host already${asProcess}`, {
      hint: `stop it or set another SERVICE_DATA_DIR; only in a copy of that service's directory, remove ${FILE_NAME}`,
    });
  }
  return { id, [Symbol.dispose]: () => lock[Symbol.dispose]() };
}

/** Takes a name on this host; null if another service holds the name. */
function takeName(path: string): ProcessLock | null {
  const parent = dirname(path);
  try {
    mkdirSync(parent, { recursive: true, mode: 0o711 });
    return ProcessLock.take(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new StartError(`${parent} cannot be written: ${code}`, { hint: `make ${parent} writable for root`, cause });
  }
}

/**
 * The instance in a data directory; null if no service ever used the directory. The file's inode number is part of the
 * instance, so that a copy of the directory is another instance.
 *
 * @throws StartError if the file is not one that `openInstance` made
 */
export function readInstance(dataDir: string): string | null {
  const path = join(dataDir, FILE_NAME);
  const facts = statSync(path, { throwIfNoEntry: false, bigint: true });
  if (facts === undefined) return null;
  const text = facts.isFile() ? readFileSync(path, 'latin1') : '';
  if (!ID.test(text)) {
    throw new StartError(`${path} was not written by a service`, { hint: 'remove it: the next start makes another' });
  }
  return `${text.trimEnd()}:${facts.ino}`;
}

function makeInstance(dataDir: string): string {
  const path = join(dataDir, FILE_NAME);
  try {
    writeFileSync(path, `${randomBytes(16).toString('hex')}\n`, { flag: 'wx', mode: 0o600, flush: true });
    return readInstance(dataDir) as string;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return readInstance(dataDir) as string;
    rmSync(path, { force: true });
    throw new StartError(`${path} cannot be written: ${(cause as NodeJS.ErrnoException).code}`, { cause });
  }
}
