/** `vouchbox backup`: copies the store, whether a service runs or not. */
import { resolve } from 'node:path';
import { backUp, StartError, StoreError } from '@vouchbox/server/administration';
import { EXIT } from '../failures/exit-code.ts';
import { type JsonOption, note, printResult } from '../terminal/print.ts';
import { administeredService, type DataOptions } from './administered-service.ts';

export interface BackupOptions extends DataOptions, JsonOption {}

/** Copies the store to a new file, and says so on stderr. */
export async function backupTo(file: string, options: BackupOptions): Promise<number> {
  const { dataDir, databaseUrl } = await administeredService(options);
  const target = resolve(file);
  try {
    backUp({ dataDir, databaseUrl, target });
  } catch (error) {
    if (error instanceof StoreError) throw new StartError(error.message, { cause: error });
    throw error;
  }
  note(`the store is in ${target}; the signing keys are not`);
  printResult(options, '', { file: target, data_dir: dataDir });
  return EXIT.ok;
}
