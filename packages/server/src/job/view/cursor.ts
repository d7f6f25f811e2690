/**
 * Places in a tenant's job list, opaque to clients. A cursor names the last job on a page. A digest binds the cursor to
 * its tenant: another tenant's cursor or a damaged cursor is refused, and never taken for another place. A cursor is not
 * a credential, because the list is always read for the caller's tenant.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { cursorCharsMax } from '@vouchbox/protocol';
import { ServiceError } from '../../ground/service-error.ts';
import type { ListPlace } from '../../store/records/rows.ts';

const CURSOR_DOMAIN = 'svc.list-cursor.v1';
const digestBytes = 16;

/** The cursor for the page after a job. The same job gives the same cursor, even after a restart. */
export function encodeCursor(tenant: string, { created_at, job_id }: ListPlace): string {
  const place = `${created_at} ${job_id}`;
  return Buffer.concat([digest(tenant, place), Buffer.from(place)]).toString('base64url');
}

/**
 * The place of the job that one of this tenant's cursors names.
 *
 * @throws ServiceError `invalid_request` for anything that `encodeCursor` did not make for this tenant.
 */
export function decodeCursor(tenant: string, cursor: string): ListPlace {
  const bytes = cursor.length <= cursorCharsMax ? Buffer.from(cursor, 'base64url') : Buffer.alloc(0);
  const place = bytes.subarray(digestBytes).toString();
  // Decoding skips characters that are not base64url, so only the text that encodes back to itself is accepted.
  const isExact = bytes.length > digestBytes && bytes.toString('base64url') === cursor;
  if (isExact && timingSafeEqual(bytes.subarray(0, digestBytes), digest(tenant, place))) return placeOf(place);
  throw new ServiceError('invalid_request', 'cursor is not one that this list gave out.');
}

/** Reads the place in a cursor: a time, a space and an id. A time contains no space. */
function placeOf(place: string): ListPlace {
  const space = place.indexOf(' ');
  return { created_at: place.slice(0, space), job_id: place.slice(space + 1) };
}

function digest(tenant: string, place: string): Buffer {
  return hash('sha256', [CURSOR_DOMAIN, tenant, place].join('\n'), 'buffer').subarray(0, digestBytes);
}
