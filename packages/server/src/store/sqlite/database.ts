/**
 * Opens the store's file with SQLite, and makes the settings of every connection. The query builder is not loaded here, because a
 * backup does not need it.
 */
import { DatabaseSync } from 'node:sqlite';

/** How long to wait for another process's lock. An operator's command or a backup holds a lock only for moments. */
const busyMillisecondsMax = 5000;

/** How many KiB of pages each connection keeps in memory. Every commit makes the reading connection drop its pages. */
const cacheKib = { writing: 16 * 1024, reading: 4 * 1024 };

/** Opens a file that exists. */
export function openDatabase(path: string, { readOnly }: { readonly readOnly: boolean }): DatabaseSync {
  const database = new DatabaseSync(path, {
    readOnly,
    timeout: busyMillisecondsMax,
    enableForeignKeyConstraints: true,
    enableDoubleQuotedStringLiterals: false,
    defensive: true,
  });
  database.exec('pragma trusted_schema = off');
  database.exec('pragma cell_size_check = on');
  database.exec(`pragma cache_size = -${readOnly ? cacheKib.reading : cacheKib.writing}`);
  return database;
}
