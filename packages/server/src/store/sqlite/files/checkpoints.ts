/**
 * Moves committed pages from the write-ahead log into the database, after the waiting callers have been answered. So the log
 * stays bounded however long readers use it. https://www.sqlite.org/wal.html
 *
 * If the disk may lack room for the database to grow by the whole log, nothing is moved: the remaining room is for further
 * commits.
 */
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';

/**
 * A log of at least this length is moved as far as readers allow: 500 pages of 4 KiB, 2 MiB in all. Commits wait for the move. It
 * takes some 6 ms; moving 8 MiB would take 26 ms.
 */
const pagesBeforePassive = 500;
/** From this length of the log, 32 MiB, the writer waits for readers, so that the log can start again. Reads are short. */
const pagesBeforeRestart = 8000;
const pageBytes = 4096;
/** How long the writer waits for readers. If a backup reads for longer, the next try comes `pagesBeforePassive` pages later. */
const readersMillisecondsMax = 100;

/** How many pages are in the log, one in each frame, and how many of them the database already has. */
export interface LogLength {
  readonly log: number;
  readonly moved: number;
}

export class Checkpoints {
  readonly #database: DatabaseSync;
  readonly #state: StatementSync;
  readonly #freeBytes: () => number;
  #restartAt = pagesBeforeRestart;

  constructor(database: DatabaseSync, freeBytes = () => freeBytesBeside(database)) {
    this.#database = database;
    this.#freeBytes = freeBytes;
    this.#state = database.prepare('pragma wal_checkpoint(noop)');
  }

  /** The length of the log. Call it outside a transaction. */
  length(): LogLength {
    const row = this.#state.get();
    return { log: Math.max(0, Number(row?.['log'])), moved: Math.max(0, Number(row?.['checkpointed'])) };
  }

  /** Moves the log if it is long enough, and returns whether it did. Call it outside a transaction. */
  moveIfLong({ log, moved } = this.length()): boolean {
    const isLong = log >= this.#restartAt || log - moved >= pagesBeforePassive;
    if (!isLong || this.#freeBytes() < (log - moved) * pageBytes) return false;
    if (log >= this.#restartAt) this.#restart(log);
    else this.#database.exec('pragma wal_checkpoint(passive)');
    return true;
  }

  /** Moves everything and empties the log. */
  moveAll(): void {
    this.#database.exec('pragma wal_checkpoint(truncate)');
  }

  #restart(log: number): void {
    const waits = this.#database.prepare('pragma busy_timeout').get();
    this.#database.exec(`pragma busy_timeout = ${readersMillisecondsMax}`);
    try {
      const restarted = this.#database.prepare('pragma wal_checkpoint(restart)').get();
      this.#restartAt = restarted?.['busy'] === 0 ? pagesBeforeRestart : log + pagesBeforePassive;
    } finally {
      this.#database.exec(`pragma busy_timeout = ${Number(waits?.['timeout'])}`);
    }
  }
}

/** The free bytes of the database's file system; infinite if the database is in memory. */
function freeBytesBeside(database: DatabaseSync): number {
  const path = database.location();
  if (path === null) return Number.POSITIVE_INFINITY;
  const { bavail, bsize } = statfsSync(dirname(path));
  return bavail * bsize;
}
