/** `svc backup`: puts a copy of the ledger aside, whether a service runs or not. */
import { resolve } from 'node:path';
import { backUp, loadConfig, StartError, StoreError } from '@svc/server/administration';
import { serverEnvironment } from './environment.ts';
import { EXIT } from './exit-code.ts';

/** The settings that say where the ledger is, by their flags. */
export interface BackupOptions {
  readonly dataDir?: string;
  readonly databaseUrl?: string;
}

/** Copies the ledger to a file that must not exist yet, and says so on stderr. */
export async function backupTo(file: string, options: BackupOptions): Promise<number> {
  const flags = { 'data-dir': options.dataDir, 'database-url': options.databaseUrl };
  const { dataDir, databaseUrl } = loadConfig(serverEnvironment(), flags);
  const target = resolve(file);
  try {
    backUp({ dataDir, databaseUrl, target });
  } catch (error) {
    if (error instanceof StoreError) throw new StartError(error.message, { cause: error });
    throw error;
  }
  process.stderr.write(`svc: the ledger is in ${target}; the signing keys are not\n`);
  return EXIT.ok;
}
