/**
 * The whole record of a terminal job as it is stored, for whoever is to vouch for it. Nothing of it is parsed or checked
 * here: what rotted is found by whoever does.
 */

import { prepared } from '../prepared.ts';
import type { JobKey, TerminalRecordResult } from '../records.ts';
import type { LedgerDatabase } from '../schema.ts';
import { HISTORY_COLUMNS, type HistoryRow, packHistory } from './packed-history.ts';

const selectTerminal = prepared((db, { tenant, job_id }: JobKey) =>
  db
    .selectFrom('jobs')
    .innerJoin('receipts', (join) =>
      join.onRef('receipts.tenant', '=', 'jobs.tenant').onRef('receipts.job_id', '=', 'jobs.job_id'),
    )
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
      'receipts.receipt_json',
      'receipts.receipt_sha256',
    ])
    .where('jobs.tenant', '=', tenant)
    .where('jobs.job_id', '=', job_id),
);

const selectHistory = prepared((db, { tenant, job_id }: JobKey) =>
  db
    .selectFrom('events')
    .select(HISTORY_COLUMNS)
    .where('tenant', '=', tenant)
    .where('job_id', '=', job_id)
    .orderBy('seq'),
);

/** See `Store.terminalRecords`. One that cannot be read does not keep the others from being answered. */
export async function terminalRecords(
  db: LedgerDatabase,
  { keys, bytesMax }: { readonly keys: readonly JobKey[]; readonly bytesMax: number },
): Promise<readonly TerminalRecordResult[]> {
  const results: TerminalRecordResult[] = [];
  let bytes = 0;
  for (const key of keys) {
    const result = await terminalRecord(db, key);
    results.push(result);
    if (result.kind === 'record') bytes += result.record.receipt_json.length + result.record.history.length;
    if (bytes >= bytesMax) break;
  }
  return results;
}

async function terminalRecord(db: LedgerDatabase, key: JobKey): Promise<TerminalRecordResult> {
  try {
    const row = await selectTerminal.first(db, key);
    if (row === null) return { kind: 'absent' };
    const history = packHistory(selectHistory.lists(db, key) as readonly HistoryRow[]);
    return { kind: 'record', record: { ...row, truncated: row.truncated === 1, history } };
  } catch (error) {
    return { kind: 'unreadable', message: error instanceof Error ? error.message : String(error) };
  }
}
