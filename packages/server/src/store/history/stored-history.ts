/**
 * Reads a job's history in pages: rows with one event each, and runs of output, in order. Runs are read only where the rows'
 * numbers leave a gap, so a short job without runs costs one query.
 */
import type { JobEvent } from '@vouchbox/protocol';
import { sql } from 'kysely';
import { hasKey, JOB } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { StoredRun } from '../records/rows.ts';
import { EVENT_COLUMNS, type JobKey, type StoredEvent } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { eventsOfStoredRun } from './stored-runs.ts';

/** A job's events whose numbers are above `after` and at most `until`. */
export interface HistoryRange extends JobKey {
  readonly after: number;
  readonly until: number;
}

/** One event, or a run, which may begin before the range and end after the range. */
export type StoredPart = StoredEvent | StoredRun;

/** How many rows, or runs of up to 64 Ki characters, are read and held in memory together. */
const pageRows = 256;
const pageRuns = 8;

export const selectEvents = prepared((db, range: HistoryRange) =>
  db
    .selectFrom('events')
    .select(EVENT_COLUMNS)
    .where(hasKey('events', JOB, range))
    .where('seq', '>', range.after)
    .where('seq', '<=', range.until)
    .orderBy('seq')
    .limit(sql.lit(pageRows)),
);

const selectRuns = prepared((db, range: HistoryRange) =>
  db
    .selectFrom('output_runs')
    .select(['seq', 'last_seq', 'prev_hash', 'size_bytes', 'event_hashes', 'content'])
    .where(hasKey('output_runs', JOB, range))
    .where('seq', '<=', range.until)
    .where('last_seq', '>', range.after)
    .orderBy('seq')
    .limit(sql.lit(pageRuns)),
);

/** Reads each page when it is requested. `first` has the rows of the first page if they have already been read. */
export async function* storedPages(
  db: StoreDatabase,
  range: HistoryRange,
  first?: StoredEvent[],
): AsyncGenerator<readonly StoredPart[]> {
  let { after } = range;
  for (let rows = first ?? (await selectEvents.all(db, range)); rows.length > 0; ) {
    let page: StoredEvent[] = [];
    for (const row of rows) {
      if (row.seq > after + 1) {
        yield page;
        page = [];
        yield* runPages(db, { ...range, after, until: row.seq - 1 });
      }
      page.push(row);
      after = row.seq;
    }
    yield page;
    rows = rows.length < pageRows ? [] : await selectEvents.all(db, { ...range, after });
  }
  if (after < range.until) yield* runPages(db, { ...range, after });
}

async function* runPages(db: StoreDatabase, range: HistoryRange): AsyncGenerator<readonly StoredRun[]> {
  for (let { after } = range; after < range.until; ) {
    const runs = await selectRuns.all(db, { ...range, after });
    yield runs;
    after = runs.length < pageRuns ? range.until : (runs.at(-1)?.last_seq ?? range.until);
  }
}

/** The events of a run that are in the range. @throws Error if the stored bytes are not a run. */
export function* eventsInRange({ job_id, after, until }: HistoryRange, run: StoredRun): Generator<JobEvent> {
  for (const event of eventsOfStoredRun(job_id, run)) {
    if (event.seq > after && event.seq <= until) yield event;
  }
}

/** The runs of a whole history. `rows` is how many of its events have a row of their own. */
export async function storedRuns(db: StoreDatabase, range: HistoryRange, rows: number): Promise<readonly StoredRun[]> {
  return rows < range.until - range.after ? (await Array.fromAsync(runPages(db, range))).flat() : [];
}
