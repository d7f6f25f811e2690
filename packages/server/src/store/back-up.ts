/**
 * Copies the whole store for an operator's backup, whether or not a service is using the store. The copy has everything that was
 * acknowledged before copying began, but not the signing keys.
 */
import { existsSync } from 'node:fs';
import { databasePath, type OpenStoreOptions } from './open-store.ts';
import { copyStore } from './sqlite/copy-store.ts';
import { openDatabase } from './sqlite/database.ts';
import { storeErrorOf } from './sqlite/error.ts';
import { StoreError } from './store-error.ts';

export interface BackUpOptions extends Pick<OpenStoreOptions, 'dataDir' | 'databaseUrl'> {
  /** The file to create. Only its owner can read it. */
  readonly target: string;
}

/** @throws StoreError with a one-line message if there is no store, the target exists, or either cannot be used */
export function backUp({ target, ...where }: BackUpOptions): void {
  const path = databasePath(where);
  if (path === null) throw new StoreError('unopenable', 'the store is on a database server: back it up with pg_dump');
  if (!existsSync(path)) throw new StoreError('unopenable', `${path}: there is no store`);
  if (existsSync(target)) throw new StoreError('unopenable', `${target}: it exists, and a backup overwrites nothing`);
  try {
    using database = openDatabase(path, { readOnly: true });
    copyStore(database, target);
  } catch (thrown) {
    const { code, message } = storeErrorOf(thrown);
    throw new StoreError(code, `the store ${path} could not be copied to ${target}: ${message}`, { cause: thrown });
  }
}
