/** Requires a store for an operator's commands. The commands work on a service's store, and never make a store. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { databasePath, type OpenStoreOptions } from '../store/open-store.ts';
import { OperatorError } from './operator-error.ts';

/** The files that every version of the service makes at its first start. */
const MADE_BY_A_SERVICE = ['svc.db', 'instance-id', 'attestation-keys'];

/** Whether a service has ever stored anything in the directory. */
export function holdsData(dataDir: string): boolean {
  return MADE_BY_A_SERVICE.some((name) => existsSync(join(dataDir, name)));
}

/** @throws OperatorError if no service has ever stored anything in this directory */
export function requireData(dataDir: string): void {
  if (holdsData(dataDir)) return;
  throw new OperatorError(`there is no data of a service in ${dataDir}`, {
    hint: "the first start makes it; name another service's directory with --data-dir",
  });
}

/** @throws OperatorError if there is no store */
export function requireStore(options: Pick<OpenStoreOptions, 'dataDir' | 'databaseUrl'>): void {
  const path = databasePath(options);
  // A database on a server is checked when it is opened.
  if (path === null || existsSync(path)) return;
  throw new OperatorError(`there is no store ${path}`, {
    hint: 'the first start of a service makes it; name the data directory of another with --data-dir',
  });
}
