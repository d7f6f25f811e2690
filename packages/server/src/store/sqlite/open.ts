/** The store in one SQLite file, for one service on one host. */
import type { Store } from '../store.ts';
import { openThreadedStore, type ThreadedStoreOptions } from '../threaded-store.ts';
import type { StoreCheck } from '../threads/messages.ts';
import { type Threads, threadsOf } from '../threads/threads.ts';

/** Each side of the store on a separate thread. */
export const SQLITE_THREADS = threadsOf(new URL('./threads/side-thread.ts', import.meta.url));

export interface SqliteStoreOptions extends Pick<ThreadedStoreOptions, 'onProblem'> {
  /** Absolute path of the database. Its directory is created if it is missing. */
  readonly path: string;
  readonly check: StoreCheck;
  /** Runs the two sides of the store. Default: threads of this process. */
  readonly threads?: Threads;
}

/** @throws StoreError, in one clear line, if the file cannot be this service's store */
export function openSqliteStore({
  path,
  check,
  onProblem,
  threads = SQLITE_THREADS,
}: SqliteStoreOptions): Promise<Store> {
  return openThreadedStore({ data: { place: path, check }, threads, name: path, onProblem });
}
