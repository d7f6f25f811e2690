/**
 * The directory for everything that the service keeps. It is made if it is missing, and is open only to its owner. A directory
 * that others may write to is refused, because they could put a store, a key or a socket into it.
 */
import { existsSync, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeDirectories } from '../ground/make-directories.ts';
import { StartError } from '../ground/start-error.ts';

/** The write permissions that others must not have. Others may list the directory, but cannot read its files. */
const OTHERS_WRITE = 0o022;

/**
 * Opens the directory for a service. Makes the directory and its parents if they are missing.
 *
 * @throws StartError if the directory does not exist and cannot be made, or if others may change it
 */
export async function openDataDirectory(path: string): Promise<void> {
  try {
    makeDirectories(path, 0o700);
  } catch (cause) {
    throw unusable(path, cause);
  }
  await checkDataDirectory(path);
}

/** @throws StartError if there is no directory, or if other users may change it */
export async function checkDataDirectory(path: string): Promise<void> {
  await checkOwnDirectory('data directory', path, 'SERVICE_DATA_DIR');
}

/**
 * Checks the directory of a store's file. `file` is null for a store on a server.
 *
 * @throws StartError if the directory exists and others may change it
 */
export async function checkStoreDirectory(file: string | null): Promise<void> {
  const path = file === null ? null : dirname(file);
  if (path !== null && existsSync(path))
    await checkOwnDirectory('directory of the store', path, 'SERVICE_DATABASE_URL');
}

async function checkOwnDirectory(what: string, path: string, setting: string): Promise<void> {
  let facts: Stats;
  try {
    facts = await stat(path);
  } catch (cause) {
    throw unusable(path, cause);
  }
  if (!facts.isDirectory()) throw unusable(path, { code: 'ENOTDIR' });
  if (facts.uid !== (process.geteuid?.() ?? facts.uid)) {
    // The message has no user ids, because a user namespace's ids differ from the host's.
    throw new StartError(`the ${what} ${path} belongs to another user, who could put anything into it`, {
      hint: `set ${setting} to a place in a directory of your own; to take over this one, chown it as root`,
    });
  }
  if ((facts.mode & OTHERS_WRITE) !== 0) {
    const mode = (facts.mode & 0o7777).toString(8);
    throw new StartError(`the ${what} ${path} is open to other users (mode ${mode})`, {
      hint: `chmod go-w ${path}`,
    });
  }
}

function unusable(path: string, cause: unknown): StartError {
  const { code = 'unknown' } = cause as { readonly code?: string };
  return new StartError(`the data directory ${path} cannot be used: ${PROBLEMS[code] ?? code}`, {
    hint: 'set SERVICE_DATA_DIR to a directory that this user may write',
    cause,
  });
}

const PROBLEMS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not make it',
  EPERM: 'this user may not make it',
  ENOENT: 'nothing can be made there',
  EEXIST: 'a file is in its place',
  ENOTDIR: 'a file is in its place',
  EROFS: 'its file system is read-only',
  ENOSPC: 'its file system is full',
};
