/**
 * Copies one state of a store into another file, while the store is in use. An upgrade makes such a copy before it changes
 * anything, and an operator makes one as a backup. https://www.sqlite.org/lang_vacuum.html
 */
import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { syncDirectory, syncFile } from '../../ground/durably.ts';

/**
 * Copies the store to `target`, which only its owner can read. The copy is complete or does not exist.
 *
 * @throws errors from SQLite and the file system, for example if no space is left. A partial copy is removed first.
 */
export function copyStore(database: DatabaseSync, target: string): void {
  const partial = `${target}.partial`;
  rmSync(partial, { force: true });
  try {
    // SQLite would make the file readable for everybody, but accepts an existing empty file.
    closeSync(openSync(partial, 'wx', 0o600));
    database.prepare('vacuum into ?').run(partial);
    syncFile(partial);
    renameSync(partial, target);
  } finally {
    rmSync(partial, { force: true });
  }
  syncDirectory(dirname(target));
}

/** Copies the store as an older version left it. An existing copy comes from an earlier try of this upgrade, and is kept. */
export function keepOlderStore(database: DatabaseSync, target: string): void {
  if (!existsSync(target)) copyStore(database, target);
}
