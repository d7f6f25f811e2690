/**
 * Looks for a file that is exactly as large as any file may become. A program that runs into that limit gets an error or
 * a signal that only itself and its parent see, but the file stays, filled up to the limit.
 */
import { closeSync, constants, lstatSync, opendirSync, openSync, statfsSync } from 'node:fs';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
/** Directories that are held open at once. */
const DEPTH_MAX = 32;
/** The service's own files, which no program can change. */
const INPUT = 'input';

/**
 * Whether a file of this size, in bytes, is below an open directory, which has a file system of its own. It looks only
 * if that holds as much, so that an ordinary job costs one system call: a sparse file alone is not found.
 */
export function holdsFileOf(directory: number, bytes: number): boolean {
  const { blocks, bfree, bsize } = statfsSync(`/proc/self/fd/${directory}`);
  return (blocks - bfree) * bsize >= bytes && isBelow(directory, bytes, 1);
}

function isBelow(directory: number, bytes: number, depth: number): boolean {
  using entries = opendirSync(`/proc/self/fd/${directory}`, { encoding: 'buffer' as BufferEncoding });
  for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
    const name = entry.name as unknown as Buffer;
    const path = Buffer.concat([Buffer.from(`/proc/self/fd/${directory}/`), name]);
    if (entry.isFile() && lstatSync(path).size === bytes) return true;
    const isSearched = entry.isDirectory() && depth < DEPTH_MAX && !(depth === 1 && name.equals(Buffer.from(INPUT)));
    if (isSearched && isInDirectory(path, bytes, depth + 1)) return true;
  }
  return false;
}

function isInDirectory(path: Buffer, bytes: number, depth: number): boolean {
  let directory: number;
  try {
    directory = openSync(path, O_RDONLY | O_NOFOLLOW | O_DIRECTORY);
  } catch {
    return false; // What cannot be looked at is not told.
  }
  try {
    return isBelow(directory, bytes, depth);
  } finally {
    closeSync(directory);
  }
}
