/** Removes objects that no job uses any longer, and objects whose put was begun by a node that is gone. */
import type { ObjectStore } from '../../objects/object-store.ts';
import type { Store } from '../../store/store.ts';
import { objectKeyOf } from '../object-contents.ts';

export interface RemoveOptions {
  readonly store: Pick<Store, 'condemnObjects' | 'forgetObject' | 'postponeObject'>;
  readonly objects: Pick<ObjectStore, 'remove'>;
  /** The age at which an object that was begun but never used counts as abandoned. */
  readonly abandonedMilliseconds?: number;
}

/** Longer than any put takes with all its attempts. */
const putMillisecondsMax = 900_000;
const stepMax = 32;

/**
 * Removes all condemned objects and returns how many. It ends early if the signal aborts.
 *
 * @throws ObjectError or StoreError; what was not removed stays listed
 */
export async function removeObjects(
  { store, objects, abandonedMilliseconds = putMillisecondsMax }: RemoveOptions,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  for (;;) {
    const begunBefore = new Date(Date.now() - abandonedMilliseconds).toISOString();
    const condemned = await store.condemnObjects({ at: now(), begunBefore, limit: stepMax });
    for (const object of condemned) {
      if (signal.aborted) return removed;
      await objects.remove(objectKeyOf(object)).catch(async (error: unknown) => {
        await store.postponeObject({ ...object, at: now() });
        throw error;
      });
      await store.forgetObject(object);
      removed++;
    }
    if (condemned.length === 0) return removed;
  }
}

function now(): string {
  return new Date().toISOString();
}
