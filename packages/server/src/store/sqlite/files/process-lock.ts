/**
 * A file that only one process can hold at a time. SQLite takes the kernel's lock on the file. The lock ends with the process,
 * however the process ends. A holder that releases the lock also removes the file.
 */
import { readFileSync, rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { storeErrorOf } from '../error.ts';
import { ownFile } from './own-file.ts';

/** How often the lock is tried: a holder may remove the file after it was opened here and before it is locked here. */
const triesMax = 10;

/** A held lock. Disposing removes the file and releases the lock. */
export class ProcessLock implements Disposable {
  readonly #path: string;
  readonly #database: DatabaseSync;

  private constructor(path: string, database: DatabaseSync) {
    this.#path = path;
    this.#database = database;
  }

  /** Takes the lock; null if another process, or this one, holds the file. The directory must exist. @throws StoreError */
  static take(path: string): ProcessLock | null {
    for (let tries = 1; tries <= triesMax; tries++) {
      ownFile(path);
      const made = inodeOf(path);
      const database = locked(path);
      if (database === null) return null;
      if (made !== null && made === inodeOf(path)) return new ProcessLock(path, database);
      // The locked file no longer has that name.
      database.close();
    }
    return null;
  }

  /** The id of the process that holds the file; null if this process cannot see such a process. proc_locks(5). */
  static holderOf(path: string): number | null {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return null;
    // A file on another device may have the same inode, so the device is compared, too: `major:minor`, from glibc's number.
    const { dev, ino } = found;
    const device = [(dev >> 8) & 0xfff, dev & 0xff].map((part) => part.toString(16).padStart(2, '0')).join(':');
    const locks = readFileSync('/proc/locks', 'utf8').split('\n');
    const held = locks.map((line) => line.split(/\s+/)).find((columns) => columns[5] === `${device}:${ino}`);
    const pid = Number(held?.[4] ?? 0);
    return pid > 0 ? pid : null;
  }

  [Symbol.dispose](): void {
    rmSync(this.#path, { force: true });
    this.#database.close();
  }
}

/** The inode of a file; null if there is no file with that name. */
function inodeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? null;
}

function locked(path: string): DatabaseSync | null {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // Nothing is written, and no journal may be left beside the file. Defensive connections refuse the mode `off`.
    database.exec('pragma journal_mode = memory; begin exclusive');
    return database;
  } catch (thrown) {
    database.close();
    const error = storeErrorOf(thrown);
    if (error.code === 'busy') return null;
    throw error;
  }
}
