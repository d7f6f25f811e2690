/**
 * One job's history so far. Thousands of events may arrive at once, so they are collected, and the views are updated at most
 * once per frame.
 */
import type { FollowState, JobEvent, KnownEvent, OutputRecord, ServiceClient, StreamName } from '@vouchbox/client';
import { colourAfter } from './colours.ts';
import { keepFollowing } from './keep-following.ts';
import { indentOf, type OutputLine } from './log-lines.ts';

/** An event other than output. Its kind may be one that a newer service added. */
export type StepEvent = Exclude<KnownEvent, { readonly kind: StreamName }>;

/** The browser reports `offline`; every other state comes from the stream. */
export type HistoryState = FollowState | 'offline';

export interface HistorySnapshot {
  readonly state: HistoryState;
  /** Why following ended before the job did; null if nothing ended it. */
  readonly error: unknown;
  /** The lines of each stream, and all lines in the order in which they came. The arrays grow. */
  readonly lines: Readonly<Record<StreamName | 'both', readonly OutputLine[]>>;
  /** All events except output. */
  readonly events: readonly StepEvent[];
  /** Whether the whole history was read. */
  readonly isFinished: boolean;
}

/** Milliseconds between two updates of the views while the browser draws no frames, for example on a hidden page. */
const hiddenMilliseconds = 250;

export class JobHistory {
  readonly job_id: string;
  readonly #listeners = new Set<() => void>();
  readonly #lines: Record<StreamName | 'both', OutputLine[]> = { stdout: [], stderr: [], both: [] };
  readonly #open: Record<StreamName, { both: number; own: number } | null> = { stdout: null, stderr: null };
  readonly #colour: Record<StreamName, string> = { stdout: '', stderr: '' };
  readonly #events: StepEvent[] = [];
  #last = 0;
  #state: HistoryState = 'connecting';
  #error: unknown = null;
  #isFinished = false;
  #isTelling = false;
  #snapshot: HistorySnapshot;

  constructor(job_id: string) {
    this.job_id = job_id;
    this.#snapshot = this.#take();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): HistorySnapshot => this.#snapshot;

  /**
   * Follows the job until its history is over or the signal aborts, and connects again as long as needed.
   * @throws ServiceFailure if the service refuses
   */
  async follow(client: ServiceClient, signal: AbortSignal): Promise<void> {
    this.#error = null;
    const onState = (state: HistoryState) => this.#become(state);
    try {
      await keepFollowing((tried) => this.#followOnce(client, tried), { signal, onState });
    } catch (error) {
      this.#error = error;
      this.#become('closed');
      throw error;
    }
  }

  /**
   * Tries once to follow. Between two tries, the state stays `reconnecting`. The client returns only at the end of a history,
   * even if the event `finished` is missing. To follow that history again would bring nothing new, and would loop as fast as
   * the service answers.
   */
  async #followOnce(client: ServiceClient, signal: AbortSignal): Promise<void> {
    const onState = (state: FollowState) => {
      if (!navigator.onLine) this.#become('offline');
      else if (state === 'live' || state === 'reconnecting') this.#become(state);
    };
    for await (const event of client.follow(this.job_id, { after: this.#last, signal, onState })) this.#add(event);
    this.#isFinished = true;
    this.#become('closed');
  }

  #add(event: JobEvent): void {
    if (event.seq <= this.#last) return;
    this.#last = event.seq;
    if (event.kind === 'stdout' || event.kind === 'stderr') this.#addOutput(event.kind, event, event.data);
    else this.#events.push(event as StepEvent);
    this.#tell();
  }

  #addOutput(stream: StreamName, { seq, timestamp: at }: JobEvent, { text, partial }: OutputRecord): void {
    const { both } = this.#lines;
    const own = this.#lines[stream];
    const place = this.#open[stream] ?? { both: both.length, own: own.length };
    const begun = own[place.own];
    const whole = (begun?.text ?? '') + text;
    const line = {
      ...(begun ?? { seq, at, number: both.length + 1, stream, colour: this.#colour[stream] }),
      text: whole,
      isEnded: partial !== true,
      indent: begun?.indent ?? indentOf(whole),
    };
    own[place.own] = line;
    both[place.both] = line;
    this.#open[stream] = line.isEnded ? null : place;
    this.#colour[stream] = colourAfter(this.#colour[stream], text);
  }

  #become(state: HistoryState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#tell();
  }

  #tell(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    const tell = () => {
      this.#isTelling = false;
      this.#snapshot = this.#take(this.#snapshot);
      for (const listener of this.#listeners) listener();
    };
    if (document.hidden) setTimeout(tell, hiddenMilliseconds);
    else requestAnimationFrame(tell);
  }

  #take(before?: HistorySnapshot): HistorySnapshot {
    return {
      state: this.#state,
      error: this.#error,
      lines: this.#lines,
      events: this.#events.length === before?.events.length ? before.events : this.#events.slice(),
      isFinished: this.#isFinished,
    };
  }
}
