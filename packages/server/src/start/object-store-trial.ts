/** Tries the object store of the settings: an object of the doctor is put, read back and removed. */
import { randomBytes, randomUUID } from 'node:crypto';
import { openObjectStore } from '../objects/open-object-store.ts';
import { fail, pass } from '../sandbox/doctor/finding.ts';
import type { Trial } from '../sandbox/doctor/trial.ts';
import type { Config } from '../settings/config.ts';

const FIX =
  'check the address, the keys and that they may list the bucket (s3:ListBucket) and get, put and delete its objects';

/** None if no object store is set. */
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
        const [key, bytes] = [`doctor/${randomUUID()}`, randomBytes(1024)];
        await objects.check();
        await objects.put(key, bytes);
        const isKept = bytes.equals(await objects.get(key, bytes.length));
        await objects.remove(key);
        if (!isKept) return fail('it gave other bytes back than were put', FIX);
        return pass(`${objects.name} keeps what is put there`);
      },
    },
  ];
}
