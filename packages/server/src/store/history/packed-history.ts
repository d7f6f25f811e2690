/**
 * A job's whole history as one byte array, to be sent to the signer's thread. The array holds the heads of the events as JSON, a
 * line feed, and then the stored texts of the events' data, one after the other. Nothing is parsed or checked here.
 */
import { EVENT_COLUMNS, type StoredEvent } from '../records/rows.ts';

const [, ...HISTORY] = EVENT_COLUMNS;

/** The packed columns of an event: all but the job's id, which is the same for all events. */
export const HISTORY_COLUMNS = HISTORY;

/** The columns of one event. */
export type HistoryRow = Columns<typeof HISTORY_COLUMNS, string>;

/** An event with the length of its data, in UTF-16 units, instead of its data. */
type Head = Columns<typeof HISTORY_COLUMNS, number>;

type Columns<Names extends readonly (keyof StoredEvent)[], Data> = {
  readonly [At in keyof Names]: Names[At] extends 'data' ? Data : StoredEvent[Names[At]];
};

/** Packs the events of one job, in their order. */
export function packHistory(rows: readonly HistoryRow[]): Uint8Array<ArrayBuffer> {
  let texts = '';
  const heads = rows.map(([seq, timestamp, kind, data, ...links]): Head => {
    texts += data;
    return [seq, timestamp, kind, data.length, ...links];
  });
  return new TextEncoder().encode(`${JSON.stringify(heads)}\n${texts}`);
}

/** The events of the job that were packed. */
export function unpackHistory(job_id: string, bytes: Uint8Array): StoredEvent[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  // The JSON has no white space, and so no line feed.
  let end = text.indexOf('\n') + 1;
  const heads = JSON.parse(text.slice(0, end)) as Head[];
  return heads.map(([seq, timestamp, kind, dataLength, hash_version, prev_hash, event_hash]) => {
    const data = text.slice(end, end + dataLength);
    end += dataLength;
    return { job_id, seq, timestamp, kind, data, hash_version, prev_hash, event_hash };
  });
}
