/** `vouchbox backup`, `restore` and `copy-store`: copy the store to a file, back from a file, and to another database. */

import { resolve } from 'node:path';
import {
  backUp,
  type CopyProgress,
  copyStore,
  loadConfig,
  OperatorError,
  restore,
  StartError,
  StoreError,
  withoutPassword,
} from '@vouchbox/server/administration';
import { serverEnvironment } from '../service/environment.ts';
import { type JsonOption, note, printResult } from '../terminal/print.ts';
import { shellWord } from '../terminal/shell-word.ts';
import { administeredService, type DataOptions } from './administered-service.ts';

export interface BackupOptions extends DataOptions, JsonOption {}

/** Copies the store to a new file, and says so on stderr. */
export async function backupTo(file: string, options: BackupOptions): Promise<void> {
  const { dataDir, databaseUrl } = await administeredService(options);
  const target = resolve(file);
  try {
    backUp({ dataDir, databaseUrl, target });
  } catch (error) {
    rethrowInWords(error);
  }
  note(`the store is in ${target}; the signing keys are not`);
  printResult(options, '', { file: target, data_dir: dataDir });
}

export interface RestoreCommandOptions extends JsonOption {
  readonly attestationKeys?: string;
  readonly dataDir?: string;
}

/** Why the log of a copy is closed: otherwise two stores would continue the same log under the same name. */
const LOG_CLOSED =
  'its log is closed: once the service runs, `vouchbox log reopen` opens the next tree, and results wait until then';

/** Restores a backup. Reports the directory and the remaining steps on stderr. */
export async function restoreFrom(file: string, options: RestoreCommandOptions): Promise<void> {
  const { dataDir, databaseUrl } = loadConfig(serverEnvironment(), { 'data-dir': options.dataDir });
  if (databaseUrl !== null) {
    throw new OperatorError('a restore writes into a data directory, but SERVICE_DATABASE_URL names another place', {
      hint: 'unset it and restore; then move svc.db there, or to PostgreSQL by `vouchbox copy-store`',
    });
  }
  const { attestationKeys } = options;
  const { hasLog } = await restore({
    backup: resolve(file),
    attestationKeys: attestationKeys === undefined ? null : resolve(attestationKeys),
    dataDir,
  });
  const keys = attestationKeys === undefined ? '; it has no signing keys: the first start makes a new one' : '';
  note(`${dataDir} has everything from the backup, and every check passed${keys}`);
  note(`start it with: vouchbox serve --data-dir ${shellWord(dataDir)}`);
  if (hasLog) note(LOG_CLOSED);
  printResult(options, '', { data_dir: dataDir, has_signing_keys: attestationKeys !== undefined });
}

export interface CopyStoreOptions extends DataOptions, JsonOption {}

/** Copies the store and compares all of it. Reports progress and the remaining steps on stderr. */
export async function copyStoreTo(target: string, options: CopyStoreOptions): Promise<void> {
  const { dataDir, databaseUrl } = await administeredService(options);
  const tables = await copyStore({ dataDir, databaseUrl, target, onProgress: tell }).catch(rethrowInWords);
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  note(`${rows} rows of ${tables.length} tables are in ${withoutPassword(target)}, and their digests are the same`);
  note('start the service with SERVICE_DATABASE_URL set to it; the signing keys stay in the data directory');
  if (tables.some(({ table, rows }) => table === 'log_state' && rows > 0)) note(LOG_CLOSED);
  printResult(options, '', { data_dir: dataDir, database_url: withoutPassword(target), tables });
}

/** Shows a store's error to the person who named the store. */
function rethrowInWords(error: unknown): never {
  if (error instanceof StoreError) throw new StartError(error.message, { cause: error });
  throw error;
}

/** Prints one line for each batch of rows. */
function tell({ table, copied, rows }: CopyProgress): void {
  if (rows > 0) note(`${table}: ${copied} of ${rows} rows`);
}
