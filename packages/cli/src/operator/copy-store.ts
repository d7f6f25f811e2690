/** `vouchbox copy-store`: copies the store of a stopped service from its SQLite file to PostgreSQL. */
import { type CopyProgress, copyStore, StartError, StoreError, withoutPassword } from '@vouchbox/server/administration';
import { EXIT } from '../failures/exit-code.ts';
import { type JsonOption, note, printResult } from '../terminal/print.ts';
import { administeredService, type DataOptions } from './administered-service.ts';

export interface CopyStoreOptions extends DataOptions, JsonOption {}

/** Copies and compares everything. Says on stderr how far it is, and what is still to do. */
export async function copyStoreTo(target: string, options: CopyStoreOptions): Promise<number> {
  const { dataDir, databaseUrl } = await administeredService(options);
  try {
    const tables = await copyStore({ dataDir, databaseUrl, target, onProgress: tell });
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    note(`${rows} rows of ${tables.length} tables are in ${withoutPassword(target)}, and their digests are the same`);
    note('start the service with SERVICE_DATABASE_URL set to it; the signing keys stay in the data directory');
    printResult(options, '', { data_dir: dataDir, database_url: withoutPassword(target), tables });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof StoreError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}

/** One line for each batch of rows. */
function tell({ table, copied, rows }: CopyProgress): void {
  if (rows > 0) note(`${table}: ${copied} of ${rows} rows`);
}
