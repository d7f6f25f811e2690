/**
 * Moves large contents from the store to the object store. Each content is put and read back. It stays in its row until
 * it was read back, and is then read from its object. So a job's end never waits for the object store, and losing an
 * object that has not been read back costs nothing.
 */
import { randomUUID } from 'node:crypto';
import { ObjectError, type ObjectStore } from '../../objects/object-store.ts';
import type { ContentHere, ContentKey } from '../../store/objects/objects.ts';
import type { StoredObject } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import { digestOf, objectKeyOf, readObject } from '../object-contents.ts';

export interface MoveOptions {
  readonly store: Pick<Store, 'contentsHere' | 'contentHere' | 'beginObject' | 'placeObject'>;
  readonly objects: ObjectStore;
  /** Smaller contents stay in the store. */
  readonly bytesMin: number;
}

/** How many contents of each kind are looked up at once. */
const stepMax = 16;

/**
 * Moves all large contents, one after the other, and returns how many. It ends early if the signal aborts.
 *
 * @throws ObjectError or StoreError; what was not moved stays where it is
 */
export async function moveContents(options: MoveOptions, signal: AbortSignal): Promise<number> {
  let moved = 0;
  for (;;) {
    const keys = await options.store.contentsHere({ bytesMin: options.bytesMin, limit: stepMax });
    let ofStep = 0;
    for (const key of keys) {
      if (signal.aborted) return moved;
      if (await moveContent(key, options)) ofStep++;
    }
    moved += ofStep;
    // Nothing is left to move; or all that was left is removed, replaced or condemned meanwhile, and tried at the next call.
    if (ofStep === 0) return moved;
  }
}

async function moveContent(key: ContentKey, { store, objects }: MoveOptions): Promise<boolean> {
  const here = await store.contentHere(key);
  if (here === null) return false;
  const object = await objectFor(key, here, { store, objects });
  return await store.placeObject({ ...key, ...object, version: here.version, at: now() });
}

/** An object with these bytes: one that the tenant already has, if it can still be read, else a new one. */
async function objectFor(
  { tenant }: ContentKey,
  { content }: ContentHere,
  { store, objects }: Pick<MoveOptions, 'store' | 'objects'>,
): Promise<StoredObject> {
  const bytes = { tenant, sha256: await digestOf(content), size_bytes: content.length };
  const { object_id, isStored } = await store.beginObject({ ...bytes, object_id: randomUUID(), at: now() });
  const object = { ...bytes, object_id };
  if (isStored && (await isReadable(objects, object))) return object;
  await objects.put(objectKeyOf(object), content);
  await readObject(objects, object);
  return object;
}

async function isReadable(objects: ObjectStore, object: StoredObject): Promise<boolean> {
  try {
    await readObject(objects, object);
    return true;
  } catch (error) {
    if (error instanceof ObjectError && (error.code === 'missing' || error.code === 'damaged')) return false;
    throw error;
  }
}

function now(): string {
  return new Date().toISOString();
}
