/**
 * Looks for a file that is exactly as large as the file size limit. A program that reaches the limit gets an error or a signal
 * that only the program and its parent see, but the file stays, as large as the limit.
 */
import { closeSync, constants, lstatSync, opendirSync, openSync, statfsSync } from 'node:fs';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
/** How many directories are held open at once. */
const DEPTH_MAX = 32;

/**
 * Whether a file of this size, in bytes, is below an open directory that has its own file system. Looks only if the file system
 * holds as many bytes, so that an ordinary job costs one system call. So a sparse file is usually not found.
 * @param own names of the entries that the service itself put into the directory
 */
export function holdsFileOf(directory: number, bytes: number, own: readonly string[]): boolean {
  const { blocks, bfree, bsize } = statfsSync(`/proc/self/fd/${directory}`);
  return (blocks - bfree) * bsize >= bytes && isBelow(directory, bytes, { depth: 1, own });
}

interface Place {
  readonly depth: number;
  /** Names in this directory that are left out. */
  readonly own: readonly string[];
}

function isBelow(directory: number, bytes: number, { depth, own }: Place): boolean {
  using entries = opendirSync(`/proc/self/fd/${directory}`, { encoding: 'buffer' as BufferEncoding });
  for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
    const name = entry.name as unknown as Buffer;
    if (own.some((one) => name.equals(Buffer.from(one)))) continue;
    const path = Buffer.concat([Buffer.from(`/proc/self/fd/${directory}/`), name]);
    if (entry.isFile() && lstatSync(path).size === bytes) return true;
    if (entry.isDirectory() && depth < DEPTH_MAX && isInDirectory(path, bytes, depth + 1)) return true;
  }
  return false;
}

function isInDirectory(path: Buffer, bytes: number, depth: number): boolean {
  let directory: number;
  try {
    directory = openSync(path, O_RDONLY | O_NOFOLLOW | O_DIRECTORY);
  } catch {
    return false; // A file that cannot be examined is not reported.
  }
  try {
    return isBelow(directory, bytes, { depth, own: [] });
  } finally {
    closeSync(directory);
  }
}
