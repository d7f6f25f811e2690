/** Tries the object store in the settings: the doctor puts an object, reads it back and removes it. */
import { randomBytes, randomUUID } from 'node:crypto';
import { ObjectError, type ObjectStore } from '../objects/object-store.ts';
import { openObjectStore } from '../objects/open-object-store.ts';
import { fail, pass } from '../sandbox/prove/doctor/finding.ts';
import type { Trial } from '../sandbox/prove/doctor/trial.ts';
import type { Config } from '../settings/config.ts';

const FIX =
  'check the address, the keys and that they may list the bucket (s3:ListBucket) and get, put and delete its objects';

/** The trials of the object store; none if no object store is set. */
export function objectStoreTrials({ objectStore }: Pick<Config, 'objectStore'>): Trial[] {
  if (objectStore === null) return [];
  return [
    {
      id: 'service.object_store',
      title: 'the object store keeps what is put there, and removes it',
      fix: FIX,
      async attempt() {
        const objects = await openObjectStore(objectStore);
        if (objects === null) return fail('it cannot be opened', FIX);
        await objects.check();
        const key = `doctor/${randomUUID()}`;
        const isKept = await keeps(objects, key);
        await objects.remove(key);
        if (!isKept) return fail('it returned other bytes than were put', FIX);
        if (!(await isMissing(objects, key))) return fail('it still has an object that was removed', FIX);
        return pass(`${objects.name} keeps what is put there`);
      },
    },
  ];
}

/** Whether bytes can be put and read back. If this fails, the bytes are removed if possible. */
async function keeps(objects: ObjectStore, key: string): Promise<boolean> {
  const bytes = randomBytes(1024);
  try {
    await objects.put(key, bytes);
    return bytes.equals(await objects.get(key, bytes.length));
  } catch (error) {
    // The operator gets the first error, not an error from this removal.
    await objects.remove(key).catch(() => {});
    throw error;
  }
}

async function isMissing(objects: ObjectStore, key: string): Promise<boolean> {
  try {
    await objects.size(key);
    return false;
  } catch (error) {
    if (error instanceof ObjectError && error.code === 'missing') return true;
    throw error;
  }
}
