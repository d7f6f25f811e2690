/** The store in one schema of a PostgreSQL database, for any number of nodes. */
import type { Store } from '../store.ts';
import { openThreadedStore, type ThreadedStoreOptions } from '../threaded-store.ts';
import type { StoreCheck } from '../threads/messages.ts';
import { type Threads, threadsOf } from '../threads/threads.ts';
import type { MigrateOptions } from './migrations/migrate.ts';
import { STEPS } from './migrations/steps.ts';
import type { PostgresThreadData } from './threads/thread-data.ts';

/** The store's writer and reader threads: even if the database is elsewhere, building texts and sealing receipts takes time. */
const POSTGRES_THREADS = threadsOf(new URL('./threads/side-thread.ts', import.meta.url));

export interface PostgresStoreOptions extends Pick<ThreadedStoreOptions, 'onProblem'>, Pick<MigrateOptions, 'steps'> {
  /** `postgres://…`, with the options of libpq as its parameters, such as `sslmode`. */
  readonly url: string;
  readonly check: StoreCheck;
  /**
   * The name of the data directory of the service that opens the store. An earlier node with the same name counts as dead. Null
   * for an operator's command.
   */
  readonly instance?: string | null;
  /** Runs the two sides of the store. Default: threads of this process. */
  readonly threads?: Threads;
}

/** @throws StoreError, in one clear line without the password, if the database cannot be this service's store */
export function openPostgresStore({
  url,
  check,
  onProblem,
  instance = null,
  steps = STEPS,
  threads = POSTGRES_THREADS,
}: PostgresStoreOptions): Promise<Store> {
  const data: PostgresThreadData = { place: url, check, instance, steps };
  return openThreadedStore({
    data,
    threads,
    name: placeOf(url),
    onProblem,
    openFleet: (node) => openFleet({ url, node, onProblem }),
  });
}

/** Where a database is, without user, password and options: this much may stand in a message to an operator. */
function placeOf(url: string): string {
  if (!URL.canParse(url)) return 'the database';
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/** Opens the fleet. Its module is loaded here, since a store in a file needs no driver and no query builder on this thread. */
async function openFleet(options: { url: string; node: number; onProblem: ThreadedStoreOptions['onProblem'] }) {
  await import('../../ground/near-imports.ts');
  const { PostgresFleet } = await import('./fleet.ts');
  return await PostgresFleet.open(options);
}
