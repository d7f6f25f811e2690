/**
 * The directory of everything the service keeps: made where it is missing, for its owner alone.
 */
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { StartError } from './start-error.ts';

/**
 * Makes a directory and those above it. Node's own recursive `mkdir` never returns where a file system answers ENOENT for
 * a name below a directory that exists, as /proc does.
 *
 * @throws StartError where there is none and none can be made.
 */
export async function openDataDirectory(path: string): Promise<void> {
  try {
    await makeDirectories(path);
    if ((await stat(path)).isDirectory()) return;
  } catch (cause) {
    throw unusable(path, (cause as NodeJS.ErrnoException).code ?? 'unknown', cause);
  }
  throw unusable(path, 'ENOTDIR', undefined);
}

async function makeDirectories(path: string): Promise<void> {
  const failure = await makeDirectory(path);
  if (failure === null) return;
  const parent = dirname(path);
  if (failure.code !== 'ENOENT' || parent === path || (await exists(parent))) throw failure;
  await makeDirectories(parent);
  const again = await makeDirectory(path);
  if (again !== null) throw again;
}

/** Why the one directory could not be made; null where it is there. */
async function makeDirectory(path: string): Promise<NodeJS.ErrnoException | null> {
  try {
    await mkdir(path, { mode: 0o700 });
    return null;
  } catch (error) {
    const failure = error as NodeJS.ErrnoException;
    return failure.code === 'EEXIST' ? null : failure;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}

function unusable(path: string, code: string, cause: unknown): StartError {
  return new StartError(`the data directory ${path} cannot be used: ${PROBLEMS[code] ?? code}`, {
    hint: 'set SERVICE_DATA_DIR to a directory that this user may write',
    cause,
  });
}

const PROBLEMS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not make it',
  EPERM: 'this user may not make it',
  ENOENT: 'nothing can be made there',
  ENOTDIR: 'a file is in its place',
  EROFS: 'its file system is read-only',
  ENOSPC: 'its file system is full',
};
