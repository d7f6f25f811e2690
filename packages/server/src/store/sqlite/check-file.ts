/**
 * Looks through the file of a store with what SQLite has for it. Nothing is repaired.
 * https://www.sqlite.org/pragma.html
 */
import type { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../store-error.ts';

/**
 * How much of a store is looked through when it is opened. `quick` reads every page of the file, `full` also compares
 * the indexes with their tables, follows every reference, and recomputes every chain and every receipt.
 */
export type StoreCheck = 'off' | 'quick' | 'full';

/** @throws StoreError `corrupt` with the first thing that is wrong. */
export function checkFile(database: DatabaseSync, check: StoreCheck): void {
  if (check === 'off') return;
  const pragma = check === 'full' ? 'integrity_check' : 'quick_check';
  const found = Object.values(database.prepare(`pragma ${pragma}(1)`).get() ?? {})[0];
  if (found !== 'ok') throw new StoreError('corrupt', `the store is damaged: ${String(found).replace(/\s+/g, ' ')}`);
  if (check === 'full' && database.prepare('pragma foreign_key_check').get() !== undefined) {
    throw new StoreError('corrupt', 'the store is damaged: it holds rows of jobs that are not there');
  }
}
