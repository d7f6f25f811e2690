/** Opens the object store that the settings name. Its modules are loaded only if the settings name one. */
import type { ObjectStore } from './object-store.ts';
import type { S3Place } from './s3-requests.ts';

/** Opens the store at a place; null if no place is given. No request is sent, so a service can start while the store is down. */
export async function openObjectStore(place: S3Place | null): Promise<ObjectStore | null> {
  if (place === null) return null;
  const { openS3 } = await import('./s3-object-store.ts');
  return openS3(place);
}
