/**
 * Makes a file that only its owner can read, before SQLite opens the file. SQLite itself would let others read the file, and
 * gives journals the mode of their file. An existing file is not opened here, because closing it would release every lock that
 * this process holds on it. fcntl(2).
 */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs';

const OTHERS = 0o077;

/** Makes the file if it is missing, and takes all permissions from others. Throws the file system's error. */
export function ownFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if ((statSync(path).mode & OTHERS) !== 0) chmodSync(path, 0o600);
  }
}
