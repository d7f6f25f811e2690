/** Opens the object store of the settings. Its modules are loaded only if there is one. */
import type { ObjectStore } from './object-store.ts';
import type { S3Place } from './s3-requests.ts';

/** Opens the store at a place; null for null. Sends no request: a service can start without it, and move contents later. */
export async function openObjectStore(place: S3Place | null): Promise<ObjectStore | null> {
  if (place === null) return null;
  const { openS3 } = await import('./s3-object-store.ts');
  return openS3(place);
}
