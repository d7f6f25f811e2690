/**
 * Writes a running program's output into its history. One append is in flight at a time; what comes meanwhile goes into
 * the next, so a chatty program costs a transaction per batch and not per line. What is waiting is bounded by the
 * recording caps, which are asserted here once more.
 */
import { type EventBody, type OutputRecord, type StreamName, streamBytesMax, streamRecordsMax } from '@svc/protocol';
import type { OutputSink } from '../../sandbox/sandbox.ts';
import type { JobKey } from '../../store/records.ts';
import type { History } from '../history.ts';
import type { JobClock } from './clock.ts';

/** Events of one append: bounded, so that one flood does not hold the store's writer for long. */
const appendEventsMax = 1000;

/** What was recorded of one stream, counted as folded UTF-8. */
export interface RecordedStream {
  readonly bytes: number;
  readonly records: number;
  /** Whether the sandbox offered more than the caps allow; it was dropped. */
  readonly overrun: boolean;
}

/** Whether everything that was offered is on disk. `superseded` says that the job was no longer running. */
export type Recorded =
  | { readonly kind: 'whole' }
  | { readonly kind: 'superseded' }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface Recorder {
  readonly sink: OutputSink;
  /** Resolves once nothing is waiting any more. Never rejects. */
  flush(): Promise<Recorded>;
  recorded(stream: StreamName): RecordedStream;
}

export interface RecorderOptions {
  readonly history: Pick<History, 'append'>;
  readonly key: JobKey;
  readonly clock: JobClock;
  /** Called once, when an append did not succeed: the program's record has a gap from there on. */
  readonly onGap: () => void;
}

interface MutableCount {
  bytes: number;
  records: number;
  overrun: boolean;
}

/** A recorder for one run. After the first append that does not succeed it stores nothing more. */
export function createRecorder({ history, key, clock, onGap }: RecorderOptions): Recorder {
  const counts: Record<StreamName, MutableCount> = {
    stdout: { bytes: 0, records: 0, overrun: false },
    stderr: { bytes: 0, records: 0, overrun: false },
  };
  let waiting: EventBody[] = [];
  let writing: Promise<void> | null = null;
  let outcome: Recorded = { kind: 'whole' };

  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, appendEventsMax);
      waiting = waiting.slice(appendEventsMax);
      outcome = await appended(history, key, batch);
      if (outcome.kind === 'whole') continue;
      waiting = [];
      onGap();
    }
    writing = null;
  }

  return {
    sink(stream, records) {
      if (outcome.kind !== 'whole') return;
      const timestamp = clock.timestamp();
      for (const record of records) {
        if (accepted(counts[stream], record)) waiting.push({ kind: stream, timestamp, data: record });
      }
      if (waiting.length > 0) writing ??= write();
    },
    async flush() {
      while (writing !== null) await writing;
      return outcome;
    },
    recorded: (stream) => ({ ...counts[stream] }),
  };
}

async function appended(history: Pick<History, 'append'>, key: JobKey, batch: readonly EventBody[]): Promise<Recorded> {
  try {
    return (await history.append(key, batch)) ? { kind: 'whole' } : { kind: 'superseded' };
  } catch (error) {
    return { kind: 'failed', error };
  }
}

/** Counts a record in, or notes that it is over a cap. Nothing is accepted behind a record that was not. */
function accepted(count: MutableCount, record: OutputRecord): boolean {
  const bytes = Buffer.byteLength(record.text) + (record.partial ? 0 : 1);
  count.overrun ||= count.records + 1 > streamRecordsMax || count.bytes + bytes > streamBytesMax;
  if (count.overrun) return false;
  count.bytes += bytes;
  count.records++;
  return true;
}
