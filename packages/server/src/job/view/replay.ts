/** Stored events in pages, for a client that reads a job's past. Spec § GET /v1/jobs/{id}/replay. */

import type { ReplayPage } from '@svc/protocol';
import type { JobKey } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { type Body, bodyOf, longObject } from '../body.ts';
import { jobNotFound } from '../refusals.ts';
import { longText } from './long-parts.ts';

/**
 * The JSON text of one `ReplayPage`. `next_cursor` is null behind the terminal event.
 *
 * @throws ServiceError `job_not_found` for an unknown or a foreign job.
 */
export async function replay(
  store: Pick<Store, 'textExtent' | 'textPiece' | 'artifactPiece'>,
  key: JobKey,
  page: { readonly after: number; readonly limit: number },
): Promise<Body<ReplayPage>> {
  const extent = await store.textExtent({ key, kind: 'events', ...page });
  if (extent === null) throw jobNotFound();
  const next_cursor = extent.complete ? null : extent.until;
  return bodyOf(longObject<ReplayPage>({ events: longText(store, key, { kind: 'events', extent }), next_cursor }));
}
