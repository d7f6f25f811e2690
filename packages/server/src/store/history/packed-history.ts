/**
 * A job's whole history as one byte array, in which it passes to the signer's thread: the heads of its events as JSON,
 * a line feed, and the stored texts of their data one after the other. Nothing is parsed or checked here.
 */
import type { StoredEvent } from '../records.ts';

/** The packed columns of an event, in the order of its head. */
export const HISTORY_COLUMNS = [
  'seq',
  'timestamp',
  'kind',
  'hash_version',
  'prev_hash',
  'event_hash',
  'data',
] as const satisfies readonly (keyof StoredEvent)[];

/** The columns of one event. */
export type HistoryRow = readonly [...HeadColumns, data: string];

type HeadColumns = readonly [
  seq: number,
  timestamp: string,
  kind: string,
  hash_version: number,
  prev_hash: string | null,
  event_hash: string | null,
];

/** An event without its data, and the length of its data in UTF-16 units. */
type Head = readonly [...HeadColumns, dataLength: number];

/** Packs the events of one job, in their order. */
export function packHistory(rows: readonly HistoryRow[]): Uint8Array<ArrayBuffer> {
  let texts = '';
  const heads = rows.map(([seq, timestamp, kind, hash_version, prev_hash, event_hash, data]): Head => {
    texts += data;
    return [seq, timestamp, kind, hash_version, prev_hash, event_hash, data.length];
  });
  return new TextEncoder().encode(`${JSON.stringify(heads)}\n${texts}`);
}

/** The events of the job that were packed. */
export function unpackHistory(job_id: string, bytes: Uint8Array): StoredEvent[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  // The JSON has no white space, and so no line feed.
  let end = text.indexOf('\n') + 1;
  const heads = JSON.parse(text.slice(0, end)) as Head[];
  return heads.map(([seq, timestamp, kind, hash_version, prev_hash, event_hash, dataLength]) => {
    const data = text.slice(end, end + dataLength);
    end += dataLength;
    return { job_id, seq, timestamp, kind, hash_version, prev_hash, event_hash, data };
  });
}
