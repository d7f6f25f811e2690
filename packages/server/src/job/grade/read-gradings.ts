/** Reads a tenant's gradings. A read may wait until the grading has ended, or until it has a new event. Spec § Gradings. */
import type {
  FilledQueryOf,
  GradingCancellation,
  GradingDetail,
  GradingEvents,
  GradingItem,
  GradingList,
} from '@vouchbox/protocol';
import type { GradingKey, GradingRow } from '../../store/records/gradings.ts';
import type { Store } from '../../store/store.ts';
import { readUntil, type Wait } from '../history.ts';
import type { Nudges } from '../nudges.ts';
import { gradingNotFound } from '../refusals.ts';
import { decodeCursor, encodeCursor } from '../view/cursor.ts';

export interface ReadGradingOptions {
  readonly store: Pick<Store, 'grading' | 'gradings' | 'gradingEvents' | 'requestGradingCancel' | 'fleet'>;
  readonly nudges: Nudges;
  /** Aborts when the service stops. */
  readonly shutdown: AbortSignal;
}

/** @throws ServiceError `grading_not_found` */
export async function gradingDetail(key: GradingKey, wait: Wait, options: ReadGradingOptions): Promise<GradingDetail> {
  return await readUntil(
    (detail) => detail.finished_at !== null,
    async () => {
      const found = await options.store.grading(key);
      if (found === null) throw gradingNotFound();
      return { ...itemOf(found.row), graded: [...found.graded] };
    },
    { topic: `end ${key.grading_id}`, wait, ...options },
  );
}

/** @throws ServiceError `grading_not_found` */
export async function gradingEvents(
  key: GradingKey,
  { after, limit, ...wait }: Wait & { readonly after: number; readonly limit: number },
  options: ReadGradingOptions,
): Promise<GradingEvents> {
  return await readUntil(
    ({ items, next_cursor }) => items.length > 0 || next_cursor === null,
    async () => {
      const page = await options.store.gradingEvents({ ...key, after, limit });
      if (page === null) throw gradingNotFound();
      const { items, isComplete } = page;
      return { items: [...items], next_cursor: isComplete ? null : (items.at(-1)?.seq ?? after) };
    },
    { topic: `grading ${key.grading_id}`, wait, ...options },
  );
}

/** One page, newest first. Rejects with what `decodeCursor` throws. */
export async function listGradings(
  tenant: string,
  { limit, cursor }: FilledQueryOf<'listGradings'>,
  { store }: ReadGradingOptions,
): Promise<GradingList> {
  const place = cursor === undefined ? null : decodeCursor(tenant, cursor);
  const before = place && { created_at: place.created_at, grading_id: place.job_id };
  // One row more than requested shows whether there is a next page.
  const rows = await store.gradings({ tenant, limit: limit + 1, before });
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  const next_cursor =
    last === undefined ? null : encodeCursor(tenant, { created_at: last.created_at, job_id: last.grading_id });
  return { items: rows.slice(0, limit).map(itemOf), next_cursor };
}

/** Requests that a grading end. It ends later. @throws ServiceError `grading_not_found` */
export async function cancelGrading(key: GradingKey, options: ReadGradingOptions): Promise<GradingCancellation> {
  const kind = await options.store.requestGradingCancel(key);
  if (kind === 'not_found') throw gradingNotFound();
  if (kind === 'requested') options.nudges.send('gradings');
  const detail = await gradingDetail(key, { waitSeconds: 0, signal: options.shutdown }, options);
  return { ...detail, already_terminal: kind === 'already_terminal' };
}

function itemOf(row: GradingRow): GradingItem {
  const { grading_id, status, created_at, finished_at, cancellation_requested, programs, tests, runs_ended } = row;
  const runs = programs * tests;
  return { grading_id, status, created_at, finished_at, cancellation_requested, programs, tests, runs, runs_ended };
}
