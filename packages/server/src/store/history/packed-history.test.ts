import { expect, test } from 'vitest';
import type { StoredEvent } from '../records/rows.ts';
import { HISTORY_COLUMNS, type HistoryRow, packHistory, unpackHistory } from './packed-history.ts';

function eventOf(seq: number, data: string): StoredEvent {
  const at = '2026-01-01T00:00:00.000Z';
  return {
    job_id: 'job_1',
    seq,
    timestamp: at,
    kind: 'stdout',
    hash_version: 1,
    prev_hash: 'a',
    event_hash: 'b',
    data,
  };
}

const rowOf = (event: StoredEvent) => HISTORY_COLUMNS.map((name) => event[name]) as unknown as HistoryRow;

test('a history is unpacked unchanged, whatever its data', () => {
  const events = [
    eventOf(1, '{"text":"hé 😀"}'),
    { ...eventOf(2, ''), kind: 'a\nb', hash_version: 0, prev_hash: null, event_hash: null },
    eventOf(3, 'no JSON\n['),
    eventOf(4, '\u0000'),
  ];
  expect(unpackHistory('job_1', packHistory(events.map(rowOf)))).toEqual(events);
  expect(unpackHistory('job_1', packHistory([]))).toEqual([]);
});
