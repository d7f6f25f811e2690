/**
 * Copies a store as it is at one moment into another file, while it is in use: an upgrade keeps such a copy before it
 * changes anything, and an operator makes one as a backup. https://www.sqlite.org/lang_vacuum.html
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { syncDirectory } from './database.ts';

/**
 * Copies the store to `target`, which its owner alone can read and which is there whole or not at all.
 *
 * @throws what SQLite and the file system throw: among others where no space is left. Nothing is then left of the copy.
 */
export function copyStore(database: DatabaseSync, target: string): void {
  const partial = `${target}.partial`;
  rmSync(partial, { force: true });
  try {
    // SQLite would make the file readable for everybody; it takes one that exists if it is empty.
    closeSync(openSync(partial, 'wx', 0o600));
    database.prepare('vacuum into ?').run(partial);
    syncFile(partial);
    renameSync(partial, target);
  } finally {
    rmSync(partial, { force: true });
  }
  syncDirectory(dirname(target));
}

/** Copies the store as an older version left it. A copy that is there already is of this upgrade, begun earlier. */
export function keepOlderStore(database: DatabaseSync, target: string): void {
  if (!existsSync(target)) copyStore(database, target);
}

function syncFile(path: string): void {
  const descriptor = openSync(path, 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
