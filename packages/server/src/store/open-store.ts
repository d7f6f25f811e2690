/** Opens the store that the settings name. Only this file knows which kinds of store there are. */
import { resolve } from 'node:path';
import { openPostgresStore } from './postgres/open.ts';
import { openSqliteStore } from './sqlite/open.ts';
import type { Store } from './store.ts';
import { StoreError } from './store-error.ts';
import type { StoreCheck } from './threads/messages.ts';

export interface OpenStoreOptions {
  /** The data directory. The store is `svc.db` in this directory, unless a URL names another store. */
  readonly dataDir: string;
  /** `sqlite:PATH` or `postgres://…`; null or absent for the file in the data directory. */
  readonly databaseUrl?: string | null;
  /** What is checked before the store is used. Default: nothing. */
  readonly check?: StoreCheck;
  /**
   * For a store that several nodes share: the name of the service's data directory; null or absent for an operator's command.
   */
  readonly instance?: string | null;
  /** Called with failures that no caller sees, such as a failed checkpoint or the death of a store thread. */
  readonly onProblem?: (error: StoreError) => void;
}

/**
 * Opens the store, creates it if it does not exist, and brings its schema up to date.
 *
 * @throws StoreError whose message is one line for the operator: the file is locked by another service, newer than this program,
 * damaged, not a store, read-only, or cannot be opened. The message never quotes the URL, which may hold a password.
 */
export async function openStore({
  dataDir,
  databaseUrl,
  check = 'off',
  instance = null,
  onProblem = () => {},
}: OpenStoreOptions): Promise<Store> {
  const path = databasePath({ dataDir, databaseUrl: databaseUrl ?? null });
  if (path !== null) return await openSqliteStore({ path, check, onProblem });
  return await openPostgresStore({ url: databaseUrl ?? '', check, instance, onProblem });
}

/** The absolute path of the store's file; null if the store is on a server. Throws as `openStore` does. */
export function databasePath({
  dataDir,
  databaseUrl = null,
}: Pick<OpenStoreOptions, 'dataDir' | 'databaseUrl'>): string | null {
  if (databaseUrl === null) return resolve(dataDir, 'svc.db');
  const [scheme, rest] = /^([a-z][a-z0-9+.-]*):(.+)$/s.exec(databaseUrl)?.slice(1) ?? [];
  if (scheme === 'sqlite' && rest !== undefined) return resolve(rest);
  if (scheme === 'postgres' || scheme === 'postgresql') return null;
  throw new StoreError(
    'unopenable',
    `the database URL must be sqlite:PATH or postgres://…, not ${scheme ?? 'the given text'}`,
  );
}
