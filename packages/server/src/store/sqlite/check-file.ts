/** Checks the file of a store with SQLite's own checks. Nothing is repaired. https://www.sqlite.org/pragma.html */
import type { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../store-error.ts';

/**
 * How much of a store is checked when it is opened. `quick` reads every page of the file, `full` also compares the
 * indexes with their tables, follows every reference, and recomputes every chain and every receipt.
 */
export type StoreCheck = 'off' | 'quick' | 'full';

/** @throws StoreError `corrupt` with the first problem that is found */
export function checkFile(database: DatabaseSync, check: StoreCheck): void {
  if (check === 'off') return;
  const pragma = check === 'full' ? 'integrity_check' : 'quick_check';
  const found = Object.values(database.prepare(`pragma ${pragma}(1)`).get() ?? {})[0];
  if (found !== 'ok') throw new StoreError('corrupt', `the store is damaged: ${String(found).replace(/\s+/g, ' ')}`);
  if (check === 'full' && database.prepare('pragma foreign_key_check').get() !== undefined) {
    throw new StoreError('corrupt', 'the store is damaged: it has rows of jobs that do not exist');
  }
}
