/** Once a job's last event is stored, reads the history back for the receipt and the result. */
import { HASH_VERSION, resultPartOf, type StreamTexts, Transcript } from '@vouchbox/evidence';
import type { OutputRecord, StreamName, Violation } from '@vouchbox/protocol';
import { outputText } from '@vouchbox/protocol/vocabulary';
import type { ChainedJob } from '../history/events.ts';
import { STREAMS, textsOfRun } from '../history/output-run.ts';
import { storedPages } from '../history/stored-history.ts';
import { digestBytes, isRun, readRun } from '../history/stored-runs.ts';
import type { EndedContents } from '../kept/short-results.ts';
import type { StoredEvent, StoredRun } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import type { StoredEventCounts } from './receipts.ts';

export interface StoredContents extends EndedContents {
  readonly counts: StoredEventCounts;
  readonly isTruncated: boolean;
  /** The output that the receipt's evidence covers. */
  readonly output: Readonly<Record<StreamName, StreamTexts>>;
  /** The transcript of a job with tools. */
  readonly transcript: Transcript;
}

/** Reads the stored rows back, because a receipt must describe what is stored. */
export async function storedContents(
  db: StoreDatabase,
  { tenant, job_id, chain_seq }: ChainedJob,
): Promise<StoredContents> {
  const contents = new Contents();
  for await (const page of storedPages(db, { tenant, job_id, after: 0, until: chain_seq })) {
    for (const part of page) {
      if (isRun(part)) contents.addRun(part);
      else contents.addEvent(part);
    }
  }
  return contents;
}

/** Adds a whole run at once, without turning the run's records into events. */
class Contents implements StoredContents {
  readonly counts = { stored: 0, hashed: 0 };
  isTruncated = false;
  readonly output = { stdout: { texts: [] as string[], records: 0 }, stderr: { texts: [] as string[], records: 0 } };
  readonly folded = { stdout: '', stderr: '' };
  readonly violations: Violation[] = [];
  readonly transcript = new Transcript();

  addRun(stored: StoredRun): void {
    const run = readRun(stored);
    for (const stream of STREAMS) {
      const { texts, records } = textsOfRun(run, stream);
      this.counts.stored += records;
      this.#addOutput(stream, texts, records);
      this.folded[stream] += run[stream];
    }
    this.counts.hashed += stored.event_hashes.length / digestBytes;
  }

  addEvent({ seq, kind, hash_version, event_hash, data }: StoredEvent): void {
    this.counts.stored++;
    if (kind === 'tool_call' || kind === 'tool_result') this.transcript.add({ seq, kind, data: JSON.parse(data) });
    if (hash_version === HASH_VERSION && event_hash !== null) this.counts.hashed++;
    if (kind === 'truncated') this.isTruncated = true;
    const part = resultPartOf(kind);
    if (part === 'violations') this.violations.push(JSON.parse(data) as Violation);
    if (part === 'violations' || part === null) return;
    const record = JSON.parse(data) as OutputRecord;
    this.#addOutput(part, [record.text], 1);
    this.folded[part] += outputText(record);
  }

  #addOutput(stream: StreamName, texts: readonly string[], records: number): void {
    const output = this.output[stream];
    output.texts.push(...texts);
    output.records += records;
  }
}
