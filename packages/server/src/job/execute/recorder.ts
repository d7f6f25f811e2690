/**
 * Writes a running program's output into its job's history. Output waits a moment for more output, and only one append is in
 * flight at a time, so many lines share a transaction. Output that still waits when the program ends is stored with the end, so a
 * short program needs no append. While the disk is full, output waits in memory. The cell enforces caps on the recording, and
 * they also bound the waiting data.
 *
 * When a stream exceeds a cap, the append that stores its last records also stores its `truncated` event. So the stored
 * stream is complete or says that it was cut, even if the process dies. Spec § Events 6.
 */
import { type EventBody, streamBytesMax, streamRecordsMax, type Truncation } from '@vouchbox/protocol';
import { pause } from '../../ground/waiting/pause.ts';
import type { OutputSink } from '../../sandbox/sandbox.ts';
import type { JobKey } from '../../store/records/rows.ts';
import type { Log } from '../../telemetry/log/log.ts';
import { persistently } from '../finish/persistently.ts';
import type { History } from '../history.ts';
import type { JobClock } from './clock.ts';

/** The most events in one append or one end, so that a flood of events does not occupy the store's writer for long. */
const appendEventsMax = 1000;
/** How long output waits before it is appended. Readers do not notice the delay, and short programs end before it is over. */
const gatherMilliseconds = 50;

/** Whether everything that was offered is on disk. `superseded` means that the job was no longer running. */
export type Recorded =
  | { readonly kind: 'whole' }
  | { readonly kind: 'superseded' }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface Recorder {
  readonly sink: OutputSink;
  /** Records an event at once, after all earlier events. `stored` is called once it is on disk, and never if that fails. */
  readonly record: (event: EventBody, stored: () => void) => void;
  /** Call this when the program has ended. Resolves once the events that still wait fit into the end. Never rejects. */
  flush(): Promise<Recorded>;
  /**
   * The events that the flush left, in order, to be stored with the job's end. They fit in one append. If the record has
   * a gap, only `truncated` events are left.
   */
  unstored(): readonly EventBody[];
}

export interface RecorderOptions {
  readonly history: Pick<History, 'append'>;
  readonly key: JobKey;
  readonly clock: JobClock;
  readonly log: Log;
  /** Aborts when the process gives up. Output that waits for room on the disk is then lost. */
  readonly giveUp: AbortSignal;
  /** Called once, when an append has failed. From then on, the program's record has a gap. */
  readonly onGap: () => void;
}

/** A pause for more output. If it is ended early, a text is the reason, because an error would cost a stack trace each time. */
class Gathering {
  #hurried = new AbortController();
  #isOver = false;

  get isOver(): boolean {
    return this.#isOver;
  }

  async moment(): Promise<void> {
    const { signal } = this.#hurried;
    if (!signal.aborted) await pause(gatherMilliseconds, signal);
    if (signal.aborted && !this.#isOver) this.#hurried = new AbortController();
  }

  /** Ends the pause, because waiting events must be stored at once. */
  hurry(): void {
    this.#hurried.abort('the events must be stored at once');
  }

  /** Notes that no more output will come. */
  end(): void {
    this.#isOver = true;
    this.hurry();
  }
}

/** A recorder for one run. It stores nothing more after the first append that fails. */
export function createRecorder(options: RecorderOptions): Recorder {
  const { clock, onGap } = options;
  const unstored = new Set<EventBody>();
  let waiting: EventBody[] = [];
  let writing: Promise<void> | null = null;
  let outcome: Recorded = { kind: 'whole' };
  const gathering = new Gathering();
  /** For each event, what to do once it is stored. */
  const afterwards = new Map<EventBody, () => void>();
  const isPending = () => waiting.length > (gathering.isOver ? appendEventsMax : 0);

  async function write(): Promise<void> {
    while (isPending()) {
      if (waiting.length < appendEventsMax) await gathering.moment();
      if (!isPending()) break;
      const batch = waiting.slice(0, batchLength(waiting));
      waiting = waiting.slice(batch.length);
      outcome = await appended(batch, options);
      if (outcome.kind === 'whole') {
        for (const event of unstored) if (batch.includes(event)) unstored.delete(event);
        tellStored(batch, afterwards);
        continue;
      }
      waiting = [];
      onGap();
    }
    writing = null;
  }

  return {
    sink(stream, records, cut) {
      const timestamp = clock.timestamp();
      const events: EventBody[] = records.map((data) => ({ kind: stream, timestamp, data }));
      if (cut !== undefined) {
        const data: Truncation = { stream, ...cut, limit_bytes: streamBytesMax, limit_records: streamRecordsMax };
        const truncated: EventBody = { kind: 'truncated', timestamp, data };
        unstored.add(truncated);
        events.push(truncated);
      }
      if (outcome.kind !== 'whole') return;
      waiting.push(...events);
      if (waiting.length > 0) writing ??= write();
    },
    record(event, stored) {
      if (outcome.kind !== 'whole') return;
      waiting.push(event);
      afterwards.set(event, stored);
      gathering.hurry();
      writing ??= write();
    },
    async flush() {
      gathering.end();
      while (writing !== null) await writing;
      return outcome;
    },
    unstored: () => [...waiting, ...[...unstored].filter((event) => !waiting.includes(event))],
  };
}

function tellStored(batch: readonly EventBody[], afterwards: Map<EventBody, () => void>): void {
  for (const event of batch) {
    afterwards.get(event)?.();
    afterwards.delete(event);
  }
}

/** How many events the next append takes. A `truncated` event goes into the same append as the records before it. */
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
