/** The store in one schema of a PostgreSQL database, for one service. */
import type { Store } from '../store.ts';
import { openThreadedStore, type ThreadedStoreOptions } from '../threaded-store.ts';
import type { StoreCheck } from '../threads/messages.ts';
import { startThread, type Threads } from '../threads/threads.ts';
import { placeOf } from './place-of.ts';

/** Each side of the store on a separate thread: building texts and sealing receipts take time on this one, too. */
const POSTGRES_THREADS: Threads = {
  writer: (data) => startThread(new URL('./threads/writer-thread.ts', import.meta.url), data),
  reader: (data) => startThread(new URL('./threads/reader-thread.ts', import.meta.url), data),
};

export interface PostgresStoreOptions extends Pick<ThreadedStoreOptions, 'onProblem'> {
  /** `postgres://…`, with the options of libpq as its parameters, such as `sslmode`. */
  readonly url: string;
  readonly check: StoreCheck;
  /** Runs the two sides of the store. Default: threads of this process. */
  readonly threads?: Threads;
}

/** @throws StoreError in one clear line, without the password, if the database cannot be this service's store */
export function openPostgresStore({
  url,
  check,
  onProblem,
  threads = POSTGRES_THREADS,
}: PostgresStoreOptions): Promise<Store> {
  return openThreadedStore({ data: { place: url, check }, threads, name: placeOf(url), onProblem });
}
