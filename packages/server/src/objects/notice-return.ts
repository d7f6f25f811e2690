/** Notices when an object store answers again, on behalf of all users of the store. */
import { ObjectError, type ObjectStore } from './object-store.ts';

/** Wraps the store. `onReturn` is called once a request succeeds after one or more requests that failed. */
export function noticeReturn(objects: ObjectStore, onReturn: () => void): ObjectStore {
  let isGone = false;
  const noticed = async <Result>(answer: Promise<Result>): Promise<Result> => {
    try {
      const result = await answer;
      if (isGone) {
        isGone = false;
        onReturn();
      }
      return result;
    } catch (error) {
      isGone ||= saysGone(error);
      throw error;
    }
  };
  return {
    name: objects.name,
    put: (key, bytes) => noticed(objects.put(key, bytes)),
    get: (key, bytesMax) => noticed(objects.get(key, bytesMax)),
    size: (key) => noticed(objects.size(key)),
    remove: (key) => noticed(objects.remove(key)),
    check: () => noticed(objects.check()),
  };
}

/** Whether an error says that the store itself does not work. A store with a missing or damaged object still works. */
function saysGone(error: unknown): boolean {
  return error instanceof ObjectError && (error.code === 'unreachable' || error.code === 'refused');
}
