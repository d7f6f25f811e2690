/**
 * Reads a job's history: rows of one event and runs of output, in their order. Runs are read only if the numbers of the
 * rows leave a gap, so a job without runs costs one query.
 */
import type { JobEvent } from '@vouchbox/protocol';
import { prepared } from '../prepared.ts';
import { EVENT_COLUMNS, type JobKey, type StoredEvent } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { eventsOfStoredRun, type StoredRun } from './stored-runs.ts';

/** Events of a job whose numbers are above `after` and at most `until`. */
export interface HistoryRange extends JobKey {
  readonly after: number;
  readonly until: number;
}

/** One event, or a run, which may begin before the range and end after it. */
export type StoredPart = StoredEvent | StoredRun;

const selectEvents = prepared((db, { tenant, job_id, after, until }: HistoryRange) =>
  db
    .selectFrom('events')
    .select(EVENT_COLUMNS)
    .where('tenant', '=', tenant)
    .where('job_id', '=', job_id)
    .where('seq', '>', after)
    .where('seq', '<=', until)
    .orderBy('seq'),
);

const selectRuns = prepared((db, { tenant, job_id, after, until }: HistoryRange) =>
  db
    .selectFrom('output_runs')
    .select(['seq', 'last_seq', 'prev_hash', 'size_bytes', 'event_hashes', 'content'])
    .where('tenant', '=', tenant)
    .where('job_id', '=', job_id)
    .where('seq', '<=', until)
    .where('last_seq', '>', after)
    .orderBy('seq'),
);

/** Reads each part when it is requested. No other history may be read on this connection meanwhile. */
export function* storedParts(db: StoreDatabase, range: HistoryRange): Generator<StoredPart> {
  let { after } = range;
  for (const row of selectEvents.each(db, range)) {
    if (row.seq > after + 1) yield* selectRuns.each(db, { ...range, after, until: row.seq - 1 });
    yield row;
    after = row.seq;
  }
  if (after < range.until) yield* selectRuns.each(db, { ...range, after });
}

/** The events of a run that are in the range. @throws Error if the stored bytes are not a run. */
export function* eventsInRange({ job_id, after, until }: HistoryRange, run: StoredRun): Generator<JobEvent> {
  for (const event of eventsOfStoredRun(job_id, run)) {
    if (event.seq > after && event.seq <= until) yield event;
  }
}

/** The runs of a whole history that has this many rows of one event. */
export function storedRuns(db: StoreDatabase, range: HistoryRange, rows: number): readonly StoredRun[] {
  return rows < range.until - range.after ? [...selectRuns.each(db, range)] : [];
}
