/**
 * Writes a running program's output into its history. Output waits a moment for more output, and one append is in
 * flight at a time, so many lines share one transaction. Output that still waits when the program ends is stored with
 * the end, so a short program needs no append. The recording caps bound what waits; they are checked here a second
 * time. While the disk is full, output waits in memory.
 *
 * When a stream exceeds a cap, the append that stores its last records also stores its `truncated` event. So even if
 * the process dies, the stored stream is complete or says that it is cut. Spec § Events 6.
 */
import {
  type EventBody,
  type OutputRecord,
  type StreamName,
  streamBytesMax,
  streamRecordsMax,
  type Truncation,
} from '@vouchbox/protocol';
import { pause } from '../../ground/waiting/pause.ts';
import type { Cut, OutputSink } from '../../sandbox/sandbox.ts';
import type { JobKey } from '../../store/records/rows.ts';
import type { Log } from '../../telemetry/log/log.ts';
import { persistently } from '../finish/persistently.ts';
import type { History } from '../history.ts';
import type { JobClock } from './clock.ts';

/** Events of one append, or of an end. The bound keeps one flood from occupying the store's writer for long. */
const appendEventsMax = 1000;
/** How long output waits before it is appended. Readers do not notice the delay, and short programs end sooner. */
const gatherMilliseconds = 50;

/** Whether everything that was offered is on disk. `superseded` says that the job was no longer running. */
export type Recorded =
  | { readonly kind: 'whole' }
  | { readonly kind: 'superseded' }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface Recorder {
  readonly sink: OutputSink;
  /**
   * Call it when the program has ended. Resolves once no more events wait than can be stored with the end. Never
   * rejects.
   */
  flush(): Promise<Recorded>;
  /**
   * The events that were not stored by the flush, in order, to be stored with the end of the job: at most one append of
   * them, or only the `truncated` events if the record has a gap.
   */
  unstored(): readonly EventBody[];
}

export interface RecorderOptions {
  readonly history: Pick<History, 'append'>;
  readonly key: JobKey;
  readonly clock: JobClock;
  readonly log: Log;
  /** Aborts when the process gives up: output that waits for room on the disk is then not stored. */
  readonly giveUp: AbortSignal;
  /** Called once, when an append failed: the program's record has a gap from there on. */
  readonly onGap: () => void;
}

/** What was recorded of one stream, counted as folded UTF-8. */
interface Stream {
  bytes: number;
  records: number;
  /** No more records of it are taken. */
  isCut: boolean;
}

/** A recorder for one run. After the first append that fails it stores nothing more. */
export function createRecorder(options: RecorderOptions): Recorder {
  const { clock, onGap } = options;
  const streams: Record<StreamName, Stream> = {
    stdout: { bytes: 0, records: 0, isCut: false },
    stderr: { bytes: 0, records: 0, isCut: false },
  };
  const unstored = new Set<EventBody>();
  let waiting: EventBody[] = [];
  let writing: Promise<void> | null = null;
  let outcome: Recorded = { kind: 'whole' };
  const ended = new AbortController();
  const isPending = () => waiting.length > (ended.signal.aborted ? appendEventsMax : 0);

  async function write(): Promise<void> {
    while (isPending()) {
      if (waiting.length < appendEventsMax) await pause(gatherMilliseconds, ended.signal);
      if (!isPending()) break;
      const batch = waiting.slice(0, batchLength(waiting));
      waiting = waiting.slice(batch.length);
      outcome = await appended(batch, options);
      if (outcome.kind === 'whole') {
        for (const event of unstored) if (batch.includes(event)) unstored.delete(event);
        continue;
      }
      waiting = [];
      onGap();
    }
    writing = null;
  }

  return {
    sink(name, records, cut) {
      const stream = streams[name];
      const timestamp = clock.timestamp();
      const taken = take(stream, records);
      const events: EventBody[] = taken.map((data) => ({ kind: name, timestamp, data }));
      if (!stream.isCut && (cut !== undefined || taken.length < records.length)) {
        stream.isCut = true;
        const truncated: EventBody = { kind: 'truncated', timestamp, data: truncation(name, stream, cut) };
        unstored.add(truncated);
        events.push(truncated);
      }
      if (outcome.kind !== 'whole') return;
      waiting.push(...events);
      if (waiting.length > 0) writing ??= write();
    },
    async flush() {
      ended.abort();
      while (writing !== null) await writing;
      return outcome;
    },
    unstored: () => [...waiting, ...[...unstored].filter((event) => !waiting.includes(event))],
  };
}

/** How many events the next append takes. A `truncated` event stays together with the records before it. */
function batchLength(waiting: readonly EventBody[]): number {
  let length = Math.min(appendEventsMax, waiting.length);
  while (waiting[length]?.kind === 'truncated') length++;
  return length;
}

async function appended(batch: readonly EventBody[], options: RecorderOptions): Promise<Recorded> {
  const { history, key, log, giveUp } = options;
  const failed = (error: unknown) => log.error({ err: error, job_id: key.job_id }, 'output could not be stored');
  try {
    const isStored = await persistently(() => history.append(key, batch), { signal: giveUp, attemptsMax: 1, failed });
    return isStored ? { kind: 'whole' } : { kind: 'superseded' };
  } catch (error) {
    return { kind: 'failed', error };
  }
}

/** Counts the records that fit the caps and returns them. After one that does not fit, no more are taken. */
function take(stream: Stream, records: readonly OutputRecord[]): readonly OutputRecord[] {
  let taken = 0;
  for (const { text, partial } of records) {
    const bytes = Buffer.byteLength(text) + (partial ? 0 : 1);
    if (stream.isCut || stream.records >= streamRecordsMax || stream.bytes + bytes > streamBytesMax) break;
    stream.bytes += bytes;
    stream.records += 1;
    taken += 1;
  }
  return records.slice(0, taken);
}

/** How much of a stream was seen when it exceeded a cap, and how much is kept. Without a count, both are the same. */
function truncation(stream: StreamName, { bytes, records }: Stream, cut: Cut | undefined): Truncation {
  return {
    stream,
    bytes_seen: cut?.bytes_seen ?? bytes,
    bytes_stored: bytes,
    records_stored: records,
    limit_bytes: streamBytesMax,
    limit_records: streamRecordsMax,
  };
}
