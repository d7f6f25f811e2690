/**
 * For each followed job, keeps the events that were stored last, by this node or by another node that reported them. A caller
 * that waited for these events asks for them next, and is answered without a read. Events never change, so kept events may be old
 * but are never wrong. They are returned only for a page that begins with them.
 */
import type { JobEvent } from '@vouchbox/protocol';
import type { EventPage } from '../records/answers.ts';
import type { EventsInput } from '../records/inputs.ts';
import { type JobKey, nameOfJob, type StoredEvent } from '../records/rows.ts';
import { Kept } from './kept.ts';

/** How many characters the data of all kept events together may have. */
const charsMax = 2 ** 20;

export class KeptEvents {
  readonly #kept: Kept<readonly StoredEvent[]>;

  /** Kept events are returned for at most `millisecondsMax` after they were stored. */
  constructor(millisecondsMax: number) {
    const sizeOf = (events: readonly StoredEvent[]) => events.reduce((chars, { data }) => chars + data.length, 0);
    this.#kept = new Kept({ sizeMax: charsMax, sizeOf, millisecondsMax });
  }

  /** Keeps these events of a job in place of earlier ones. Null keeps none: the events are then read from the store. */
  keep(key: JobKey, events: readonly StoredEvent[] | null): void {
    const last = this.#kept.get(nameOfJob(key))?.at(-1)?.seq ?? 0;
    if (events !== null && (events.at(-1)?.seq ?? 0) < last) return;
    this.forget(key);
    if (events !== null) this.#kept.keep(nameOfJob(key), events);
  }

  /** A page of kept events; null if the page must be read from the store. Events newer than these are in the next page. */
  page({ key, after, limit }: EventsInput): EventPage | null {
    const kept = this.#kept.get(nameOfJob(key)) ?? [];
    const isNext = kept.every(({ seq }, index) => seq === after + 1 + index);
    if (kept.length === 0 || !isNext || kept.length > limit) return null;
    const events = kept.map((event) => ({ ...event, data: JSON.parse(event.data) as unknown }) as JobEvent);
    return { events, complete: false };
  }

  forget(key: JobKey): void {
    this.#kept.forget(nameOfJob(key));
  }

  clear(): void {
    this.#kept.clear();
  }
}
