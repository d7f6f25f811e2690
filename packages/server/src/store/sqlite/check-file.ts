/** Checks the file of a store with SQLite's own checks. Nothing is repaired. https://www.sqlite.org/pragma.html */
import type { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../store-error.ts';
import type { StoreCheck } from '../threads/messages.ts';

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
