/**
 * Holds a store for one service by a kernel lock on a small database beside the store. The lock ends with the process, however
 * the process ends, and leaves nothing behind. The small database also remembers the store's progress, so that a removed log or
 * an older copy of the store is noticed. Its table has had the name `ledger` since the first version.
 */
import { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../../store-error.ts';
import { storeErrorOf } from '../error.ts';
import { ownFile } from './own-file.ts';

/** A held lock. Disposing releases it. */
export class StoreLock implements Disposable {
  /** Whether no progress was remembered: the store is new, or its owner removed the lock file to accept the store as it is. */
  readonly isNew: boolean;
  readonly #database: DatabaseSync;

  /** @throws StoreError `locked` if another service, or this one, already holds the store at `path` */
  constructor(path: string) {
    ownFile(`${path}-lock`);
    this.#database = new DatabaseSync(`${path}-lock`, { timeout: 0 });
    try {
      this.#database.exec('pragma locking_mode = exclusive; pragma synchronous = full; begin exclusive');
      this.#database.exec('create table if not exists ledger (progress integer not null) strict');
      const remember = this.#database.prepare('insert into ledger select 0 where not exists (select * from ledger)');
      this.isNew = Number(remember.run().changes) > 0;
      this.#database.exec('commit');
    } catch (thrown) {
      this.#database.close();
      const error = storeErrorOf(thrown);
      throw error.code === 'busy' ? new StoreError('locked', 'another service holds this store') : error;
    }
  }

  /** @throws StoreError `corrupt` if the store's progress is less than the remembered progress */
  expect(progress: number): void {
    const row = this.#database.prepare('select progress from ledger').get();
    if (progress >= Number(row?.['progress'])) return;
    throw lacksLastWrites();
  }

  /** Remembers the progress of the store. Call this only after the progress is on disk. */
  remember(progress: number): void {
    this.#database.prepare('update ledger set progress = ?').run(progress);
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}

/** The error for a store that lacks acknowledged changes. Only its owner may decide to continue without them. */
export function lacksLastWrites(): StoreError {
  return new StoreError(
    'corrupt',
    'its last changes are missing: its -wal file is gone or damaged, or it is an older copy; restore it, or remove the -lock file to accept it as it is',
  );
}
