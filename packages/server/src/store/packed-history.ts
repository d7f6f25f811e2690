/**
 * A job's whole history in one piece of bytes, as it crosses threads on its way to the signer: the heads of its events as
 * JSON, a line feed, and the stored texts of their data one after the other. Nothing is parsed or checked here.
 */
import type { StoredEvent } from './records.ts';

/** An event without its data, which has this many UTF-16 units. */
type Head = readonly [
  seq: number,
  timestamp: string,
  kind: string,
  hash_version: number,
  prev_hash: string | null,
  event_hash: string | null,
  dataLength: number,
];

/** Packs the events of one job, in their order. */
export function packHistory(events: Iterable<StoredEvent>): Uint8Array<ArrayBuffer> {
  const heads: Head[] = [];
  let data = '';
  for (const event of events) {
    const { seq, timestamp, kind, hash_version, prev_hash, event_hash } = event;
    heads.push([seq, timestamp, kind, hash_version, prev_hash, event_hash, event.data.length]);
    data += event.data;
  }
  return new TextEncoder().encode(`${JSON.stringify(heads)}\n${data}`);
}

/** The events of the job that were packed. */
export function unpackHistory(job_id: string, bytes: Uint8Array): StoredEvent[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  // JSON has no line feed but as white space, of which there is none.
  let end = text.indexOf('\n') + 1;
  const heads = JSON.parse(text.slice(0, end)) as Head[];
  return heads.map(([seq, timestamp, kind, hash_version, prev_hash, event_hash, dataLength]) => {
    const data = text.slice(end, end + dataLength);
    end += dataLength;
    return { job_id, seq, timestamp, kind, hash_version, prev_hash, event_hash, data };
  });
}
