/** Stored events in pages, for a client that reads a job's history or follows it. Spec § GET /v1/jobs/{id}/replay. */

import type { EndingPage } from '@vouchbox/protocol';
import { Deadline } from '../../ground/waiting/deadline.ts';
import type { TextExtent } from '../../store/records/answers.ts';
import type { JobKey } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import { type Body, bodyOf, longObject } from '../body.ts';
import type { Nudges } from '../nudges.ts';
import { jobNotFound } from '../refusals.ts';
import { type EndInclude, type EndReader, endParts } from './end-parts.ts';
import { longText } from './long-parts.ts';

export interface ReplayOptions {
  readonly store: Pick<Store, 'textExtent' | 'textPiece'>;
  readonly nudges: Pick<Nudges, 'next'>;
  /** Aborts when the service stops. */
  readonly shutdown: AbortSignal;
  readonly ended: EndReader;
}

/** Which page, and how long to wait if it would be empty: at most until the signal aborts. */
export interface PageAsked {
  readonly after: number;
  readonly limit: number;
  /** The members beside the last event of the page. */
  readonly include?: EndInclude;
  readonly wait?: { readonly waitSeconds: number; readonly signal: AbortSignal };
}

/** The JSON text of one `EndingPage`, and whether it is empty although more events will come. */
export interface ReplayAnswer {
  readonly isEmpty: boolean;
  readonly body: Body<EndingPage>;
}

/**
 * One page. Its `next_cursor` is null after the terminal event.
 *
 * @throws ServiceError `job_not_found` for an unknown or a foreign job.
 */
export async function replay(key: JobKey, page: PageAsked, options: ReplayOptions): Promise<ReplayAnswer> {
  const { store, ended } = options;
  const extent = await firstNew(key, page, options);
  const next_cursor = extent.complete ? null : extent.until;
  const events = longText(store, key, { kind: 'events', extent });
  const parts = extent.complete ? await endParts(page.include ?? [], ended) : {};
  return {
    isEmpty: isEmpty(extent, page),
    body: bodyOf(longObject<EndingPage>({ events, next_cursor, ...parts })),
  };
}

/** Reads again whenever an event was added, until there is an event after the cursor or the wait is over. */
async function firstNew(key: JobKey, page: PageAsked, options: ReplayOptions): Promise<TextExtent> {
  if (page.wait === undefined || page.wait.waitSeconds === 0) return await extentOf(key, page, options);
  const { waitSeconds, signal } = page.wait;
  using deadline = new Deadline(Math.ceil(waitSeconds * 1000), [signal, options.shutdown]);
  for (;;) {
    // The nudge is registered before the page is read, so that an event that is added meanwhile is not missed.
    using nudge = options.nudges.next(`events ${key.job_id}`, deadline.signal);
    const extent = await extentOf(key, page, options);
    if (!isEmpty(extent, page) || deadline.signal.aborted) return extent;
    await nudge.arrived;
  }
}

async function extentOf(key: JobKey, { after, limit }: PageAsked, { store }: ReplayOptions): Promise<TextExtent> {
  const extent = await store.textExtent({ key, kind: 'events', after, limit });
  if (extent === null) throw jobNotFound();
  return extent;
}

function isEmpty({ until, complete }: TextExtent, { after }: PageAsked): boolean {
  return until <= after && !complete;
}
