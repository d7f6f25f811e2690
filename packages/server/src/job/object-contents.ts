/** Contents of jobs that are kept in an object store, under names that follow from the contents. */
import { subtle } from 'node:crypto';
import { sha256Hex } from '@vouchbox/evidence';
import { Turns } from '../ground/waiting/turns.ts';
import { ObjectError, type ObjectErrorCode, type ObjectStore } from '../objects/object-store.ts';
import type { StoredObject } from '../store/records/rows.ts';
import type { Log } from '../telemetry/log/log.ts';

/** The most reads at once. Each holds an object of at most 16 MiB in memory until its reader has taken it. */
const readsMax = 8;

/** How often a needed object was found missing or damaged since the start. */
export type ObjectProblems = Readonly<Record<Extract<ObjectErrorCode, 'missing' | 'damaged'>, number>>;

export interface ObjectContents {
  readonly problems: ObjectProblems;
  /**
   * Reads all bytes of an object, and compares their digest with the object's own.
   *
   * @throws ObjectError `damaged` if the digests differ; `refused` without a store; and whatever the store throws
   */
  read(object: StoredObject): Promise<Uint8Array>;
  /** Checks that an object exists and has its recorded length, but not its digest. Throws as `read` does. */
  check(object: StoredObject): Promise<void>;
}

/** `objects` is null if the operator has set no object store. */
export function createObjectContents(
  objects: Pick<ObjectStore, 'get' | 'size'> | null,
  log: Pick<Log, 'error'>,
): ObjectContents {
  const problems = { missing: 0, damaged: 0 };
  const turns = new Turns(readsMax);
  /** Does work with the object store, and tells the operator about a problem in more detail than the caller. */
  const named = async <T>(object: StoredObject, work: (store: NonNullable<typeof objects>) => Promise<T>) => {
    try {
      if (objects === null) throw new ObjectError('refused', 'no object store is set, and an object is needed');
      return await turns.take(() => work(objects));
    } catch (error) {
      if (!(error instanceof ObjectError)) throw error;
      if (error.code === 'missing' || error.code === 'damaged') problems[error.code]++;
      log.error({ err: error, object: objectKeyOf(object) }, 'an object cannot be read');
      throw error;
    }
  };
  return {
    problems,
    read: (object) => named(object, (store) => readObject(store, object)),
    check: (object) =>
      named(object, async (store) => {
        if ((await store.size(objectKeyOf(object))) !== object.size_bytes) throw notWhatWasPut(object);
      }),
  };
}

/**
 * The key of an object has three parts: a digest of the tenant, because others may read the bucket; the digest of the
 * object's bytes, with which anybody can check them; and the object's id, because no key is ever used twice.
 */
export function objectKeyOf({ tenant, sha256, object_id }: Omit<StoredObject, 'size_bytes'>): string {
  return `${sha256Hex(tenant)}/sha256/${sha256}/${object_id}`;
}

/** All bytes of an object, checked against its digest. @throws ObjectError */
export async function readObject(objects: Pick<ObjectStore, 'get'>, object: StoredObject): Promise<Uint8Array> {
  const bytes = await objects.get(objectKeyOf(object), object.size_bytes);
  if (bytes.length !== object.size_bytes || (await digestOf(bytes)) !== object.sha256) throw notWhatWasPut(object);
  return bytes;
}

/** The digest in lower-case hex. It is computed on another thread, because an object may have 16 MiB. */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await subtle.digest('SHA-256', new Uint8Array(bytes))).toString('hex');
}

function notWhatWasPut(object: StoredObject): ObjectError {
  return new ObjectError('damaged', `the object ${objectKeyOf(object)} does not have the bytes that were stored`);
}
