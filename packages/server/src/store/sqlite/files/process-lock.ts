/**
 * A file that one process holds at a time. The lock is the kernel's, which SQLite takes on it: it ends with the process
 * however the process ends. The holder removes the file when it lets go of it.
 */
import { rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { storeErrorOf } from '../sqlite-error.ts';
import { ownFile } from './own-file.ts';

/** The file may be removed by its holder between the moments of opening and locking it. */
const triesMax = 10;

/** A held lock; disposing removes the file and lets go. */
export class ProcessLock implements Disposable {
  readonly #path: string;
  readonly #database: DatabaseSync;

  private constructor(path: string, database: DatabaseSync) {
    this.#path = path;
    this.#database = database;
  }

  /** Null if another process, or this one, holds the file. The directory is there. @throws StoreError */
  static take(path: string): ProcessLock | null {
    for (let tries = 1; tries <= triesMax; tries++) {
      ownFile(path);
      const made = inodeOf(path);
      const database = locked(path);
      if (database === null) return null;
      if (made !== null && made === inodeOf(path)) return new ProcessLock(path, database);
      // What was locked is not the file of that name any more.
      database.close();
    }
    return null;
  }

  [Symbol.dispose](): void {
    rmSync(this.#path, { force: true });
    this.#database.close();
  }
}

/** Null if there is no file of that name. */
function inodeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? null;
}

function locked(path: string): DatabaseSync | null {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // Nothing is ever written, and no journal is to be left beside it. Off is refused to a defensive connection.
    database.exec('pragma journal_mode = memory; begin exclusive');
    return database;
  } catch (thrown) {
    database.close();
    const error = storeErrorOf(thrown);
    if (error.code === 'busy') return null;
    throw error;
  }
}
