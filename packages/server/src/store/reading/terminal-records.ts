/**
 * The whole record of a terminal job, as it is stored, for the signer. The record is not parsed or checked here, because the
 * signer finds any damage.
 */

import { hasKey, JOB, same, selectBy } from '../by-column.ts';
import { HISTORY_COLUMNS, type HistoryRow, packHistory } from '../history/packed-history.ts';
import { storedRuns } from '../history/stored-history.ts';
import { prepared } from '../prepared.ts';
import type { TerminalRecord, TerminalRecordResult } from '../records/answers.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';

const selectTerminal = prepared((db, key: JobKey) =>
  db
    .selectFrom('jobs')
    .innerJoin('receipts', (join) => join.on(same(JOB, 'receipts', 'jobs')))
    .select([
      'jobs.tenant',
      'jobs.job_id',
      'jobs.status',
      'jobs.exit_code',
      'jobs.signal',
      'jobs.terminal_reason',
      'jobs.created_at',
      'jobs.started_at',
      'jobs.finished_at',
      'jobs.duration_ms',
      'jobs.truncated',
      'jobs.chain_seq',
      'jobs.tenant_number',
      'receipts.receipt_json',
      'receipts.receipt_sha256',
      'receipts.salt',
      'receipts.also',
    ])
    .where(hasKey('jobs', JOB, key)),
);

const selectHistory = selectBy('events', JOB, HISTORY_COLUMNS, { orderBy: 'seq' });

/**
 * The records of jobs, in order. Reading stops once the records read have `bytesMax` bytes; the first is always read. If one
 * record cannot be read, the others are still returned.
 */
export async function terminalRecords(
  db: StoreDatabase,
  { keys, bytesMax }: { readonly keys: readonly JobKey[]; readonly bytesMax: number },
): Promise<readonly TerminalRecordResult[]> {
  const results: TerminalRecordResult[] = [];
  let bytes = 0;
  for (const key of keys) {
    const result = await terminalRecord(db, key);
    results.push(result);
    if (result.kind === 'record') bytes += bytesOf(result.record);
    if (bytes >= bytesMax) break;
  }
  return results;
}

/** The size of a record in bytes once its runs are read. */
function bytesOf({ receipt_json, history, runs }: TerminalRecord): number {
  return runs.reduce((sum, { size_bytes }) => sum + size_bytes, receipt_json.length + history.length);
}

async function terminalRecord(db: StoreDatabase, key: JobKey): Promise<TerminalRecordResult> {
  try {
    const found = await selectTerminal.first(db, key);
    if (found === null) return { kind: 'absent' };
    const { chain_seq, ...row } = found;
    const rows = (await selectHistory.lists(db, key)) as readonly HistoryRow[];
    const runs = await storedRuns(db, { ...key, after: 0, until: chain_seq }, rows.length);
    return { kind: 'record', record: { ...row, truncated: row.truncated === 1, history: packHistory(rows), runs } };
  } catch (error) {
    return { kind: 'unreadable', message: error instanceof Error ? error.message : String(error) };
  }
}
