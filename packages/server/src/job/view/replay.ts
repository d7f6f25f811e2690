/** Pages of stored events, for a client that reads or follows a job's history. Spec § GET /v1/jobs/{id}/replay. */

import type { EndingPage } from '@vouchbox/protocol';
import type { TextExtent } from '../../store/records/answers.ts';
import type { JobKey } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import { type Body, bodyOf, longObject } from '../body.ts';
import { readUntil, type Wait } from '../history.ts';
import type { Nudges } from '../nudges.ts';
import { jobNotFound } from '../refusals.ts';
import { type EndInclude, type EndReader, endParts } from './end-parts.ts';
import { longText } from './long-parts.ts';

export interface ReplayOptions {
  readonly store: Pick<Store, 'textExtent' | 'textPiece' | 'fleet' | 'isUnderWay'>;
  readonly nudges: Pick<Nudges, 'next'>;
  /** Aborts when the service stops. */
  readonly shutdown: AbortSignal;
  readonly ended: EndReader;
}

/** Which page is requested, and how long to wait if it would be empty. */
export interface PageAsked {
  readonly after: number;
  readonly limit: number;
  /** What to send beside the last event on the page. */
  readonly include?: EndInclude;
  readonly wait?: Wait;
}

/** The JSON text of an `EndingPage`, and whether the page is empty although more events will come. */
export interface ReplayAnswer {
  readonly isEmpty: boolean;
  readonly body: Body<EndingPage>;
}

/**
 * One page. Its `next_cursor` is null after the terminal event.
 *
 * @throws ServiceError `job_not_found` for an unknown job or another tenant's job.
 */
export async function replay(key: JobKey, page: PageAsked, options: ReplayOptions): Promise<ReplayAnswer> {
  const { store, ended } = options;
  const extent = await readUntil(
    (found) => !isEmpty(found, page),
    () => extentOf(key, page, store),
    { ...options, topic: `events ${key.job_id}`, wait: page.wait, isOwn: () => store.isUnderWay(key) },
  );
  const next_cursor = extent.complete ? null : extent.until;
  const events = longText(store, key, { kind: 'events', extent });
  const parts = extent.complete ? await endParts(page.include ?? [], ended) : {};
  return {
    isEmpty: isEmpty(extent, page),
    body: bodyOf(longObject<EndingPage>({ events, next_cursor, ...parts })),
  };
}

async function extentOf(key: JobKey, { after, limit }: PageAsked, store: ReplayOptions['store']): Promise<TextExtent> {
  const extent = await store.textExtent({ key, kind: 'events', after, limit });
  if (extent === null) throw jobNotFound();
  return extent;
}

function isEmpty({ until, complete }: TextExtent, { after }: PageAsked): boolean {
  return until <= after && !complete;
}
