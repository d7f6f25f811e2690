/**
 * A file for its owner alone, before SQLite opens it: SQLite makes files that others may read, and gives its journals the
 * rights of the file that they belong to. A file that is there is not opened: closing it would let go of every lock that
 * this process has on it. fcntl(2).
 */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs';

const OTHERS = 0o077;

/** Makes the file where it is missing; takes from others what rights they had. Throws the file system's error. */
export function ownFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if ((statSync(path).mode & OTHERS) !== 0) chmodSync(path, 0o600);
  }
}
