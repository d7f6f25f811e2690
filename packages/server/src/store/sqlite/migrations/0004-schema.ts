/**
 * The store for receipt schema v4. Every key begins with the tenant. Every terminal job has a receipt, and is attested or waits
 * for its attestation. This step makes all tables and fills them from those of v0.3. Spec § Versioning 4.
 */
import type { Spelling } from '../../migrations/tables/spelling.ts';
import { tablesIn } from '../../migrations/tables/tables.ts';
import type { StoreDatabase } from '../../schema.ts';
import { carryOver, setAside } from './0004-carry-over.ts';
import { sealMissingReceipts } from './0004-missing-receipts.ts';
import { digestQueuedSubmissions } from './0004-queued-submissions.ts';

/** SQLite's spelling. In a table clustered by its key, a row of more than a quarter of a page would take a whole page. */
const spelling: Spelling = {
  text: 'text',
  long: 'integer',
  bytes: 'blob',
  small: ' strict, without rowid',
  large: ' strict',
  ticketKey: 'ticket_sha256',
};
const tables = tablesIn(spelling);

/** Drops the table in which the migrator of earlier versions kept a lock. */
const dropLock = 'drop table if exists schema_history_lock;\n';

export const schemaOfV4 = `${setAside}${tables}${carryOver}${dropLock}`;

/** The part of the step that SQL alone cannot do. */
export async function fillV4(db: StoreDatabase): Promise<void> {
  await sealMissingReceipts(db);
  await digestQueuedSubmissions(db);
}
