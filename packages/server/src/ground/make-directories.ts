/** Directories at a path that somebody chose. */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes the directory and its missing parents. Node's own recursive `mkdir` is not used. It never returns if a file system, such
 * as /proc, answers ENOENT for a name in an existing directory.
 */
export function makeDirectories(path: string, mode = 0o777): void {
  const parent = dirname(path);
  if (!existsSync(parent)) makeDirectories(parent, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (!isDirectory(path)) throw error;
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
