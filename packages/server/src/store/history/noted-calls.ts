/** Rows for the calls of tools that can be answered. They are made together with the events of these calls. */
import { insertOf, JOB } from '../by-column.ts';
import type { HistoryPart } from '../records/inputs.ts';
import type { EventTable, StoreDatabase } from '../schema.ts';

const insertCall = insertOf('tool_calls', [...JOB, 'seq', 'call']);

/** Notes the calls among events that were linked; part of the transaction that stores them. */
export function noteCalls(db: StoreDatabase, parts: readonly HistoryPart[], rows: readonly EventTable[]): void {
  const calls = parts.flatMap((part) => ('kind' in part && part.kind === 'tool_call' ? [part.data] : []));
  if (calls.length === 0) return;
  const placed = rows.filter(({ kind }) => kind === 'tool_call');
  for (const [at, { call, refused }] of calls.entries()) {
    const { tenant, job_id, seq } = placed[at] as EventTable;
    if (refused === undefined) insertCall.send(db, { tenant, job_id, seq, call });
  }
}
