/**
 * The session in which one node of a service changes a store. It registers the node with a row in `nodes`, whose number is never
 * given again. Every transaction in the session locks that row. So once another node has removed the row, the node can no longer
 * change anything. A lost session is replaced when the next change arrives.
 */
import { StoreError } from '../store-error.ts';
import { Session } from './connection.ts';
import { storeErrorOf } from './error.ts';
import { removeNodes, thisTransaction } from './known-nodes.ts';
import { leaseSeconds, startingLeaseSeconds } from './lease.ts';
import { type MigrateOptions, migrate } from './migrations/migrate.ts';
import { beginRegistration } from './migrations/schema-state.ts';
import { rangeOf, type SchemaRange, STEPS } from './migrations/steps.ts';

/**
 * The settings of this session. Every query finds its rows by an index, however long a table is. Tables such as `queue` grow and
 * shrink faster than the server counts their rows, so plans must not depend on these counts. A query is therefore planned once,
 * and reads in an index's order instead of sorting all rows that it finds.
 *
 * A node that stopped in the middle of a transaction must not keep its locks for long. The time limit is shorter than the lease,
 * so that the locks are free by the time another node takes over the stopped node's jobs.
 */
const SETTINGS = `select
  set_config('plan_cache_mode', 'force_generic_plan', false),
  set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),
  set_config('enable_sort', 'off', false), set_config('enable_hashjoin', 'off', false),
  set_config('enable_mergejoin', 'off', false),
  set_config('idle_in_transaction_session_timeout', '${leaseSeconds - 1}s', false)`;

/** Removes the earlier node of this data directory. That node has ended: a data directory is served by one process at a time. */
const removePredecessor = removeNodes('instance = $1');
const insertNode = `with made as (insert into nodes (instance, started_at, lease_until, schema_needs, schema_knows, changed)
    values ($1, now(), now() + make_interval(secs => ${startingLeaseSeconds}), $2, $3, ${thisTransaction}) returning node)
  insert into node_changes select node, 0 from made returning node`;
const removeNode = removeNodes('node = $1');

/**
 * Stores the number of the change for its node, and locks the rows of the change's tenants. Returns no row if the node's row is
 * gone. The lock on the node's row lasts until the transaction ends. A session that removes the row waits for the lock; a session
 * that renews the lease does not.
 */
const enter = `with alive as (select node from nodes where node = $1 for key share),
    locked as (select 1 from tenants where tenant = any($3) order by tenant for no key update)
  update node_changes set number = $2 from alive where node_changes.node = alive.node
  returning (select count(*) from locked)`;

/**
 * Selects the stored number: that of the last committed change. The server's own transaction numbers cannot serve here, because
 * after a crash the server reuses the numbers that it had not written to its log.
 */
const lastChange = 'select number from node_changes where node = $1 for share nowait';

/** The outcome of a change. */
type Outcome = 'committed' | 'aborted' | 'in progress';

export class WritingSession implements AsyncDisposable {
  readonly #url: string;
  readonly #store: object;
  /** This node's number. It stays the same as long as the node lives. */
  readonly node: number;
  #session: Session;
  #changes = 0;

  private constructor(url: string, store: object, { session, node }: { session: Session; node: number }) {
    this.#url = url;
    this.#store = store;
    this.#session = session;
    this.node = node;
    session.node = node;
  }

  /**
   * Brings the schema to this program's version, and registers the node.
   *
   * @throws StoreError `locked` if a service of an earlier version would not survive the upgrade
   */
  static async open(
    url: string,
    store: object,
    { instance = null, steps = STEPS }: MigrateOptions = {},
  ): Promise<WritingSession> {
    const session = await openSession(url, store);
    try {
      await migrate(session, { steps, instance });
      const node = await register(session, { instance, range: rangeOf(steps) });
      return new WritingSession(url, store, { session, node });
    } catch (thrown) {
      await session[Symbol.asyncDispose]();
      throw storeErrorOf(thrown);
    }
  }

  /**
   * The session, or a new one if it was lost.
   *
   * @throws StoreError `unreachable` while no session can be opened
   */
  async current(): Promise<Session> {
    if (!this.#session.isLost) return this.#session;
    this.#session = await openSession(this.#url, this.#store);
    this.#session.node = this.node;
    return this.#session;
  }

  /**
   * Begins a transaction that locks the rows of these tenants. Every change to a tenant's jobs locks the tenant's row first, and
   * all sessions lock these rows in the same order. So a change sees what others have committed, no other change comes between
   * its reads and its writes, and two nodes never wait for each other's rows.
   *
   * Resolves to the number of the change, or to null if the node's row is gone. In that case nothing may be committed.
   */
  async begin(session: Session, tenants: readonly string[]): Promise<number | null> {
    const change = ++this.#changes;
    session.begin('isolation level read committed');
    const { rows } = await session.execute({ sql: enter, parameters: [this.node, change, tenants] });
    return rows.length === 0 ? null : change;
  }

  /** Ends the session. The next change opens another one. */
  async drop(): Promise<void> {
    await this.#session[Symbol.asyncDispose]();
  }

  /**
   * The outcome of the last change. Call this if the session of that change was lost.
   *
   * @throws StoreError `locked` if the node's row is gone; `unreachable` while the database cannot be reached
   */
  async outcomeOf(change: number): Promise<Outcome> {
    const session = await this.current();
    try {
      const { rows } = await session.execute<{ number: number }>({ sql: lastChange, parameters: [this.node] });
      if (rows[0] === undefined) throw takenOver();
      return rows[0].number === change ? 'committed' : 'aborted';
    } catch (thrown) {
      const error = storeErrorOf(thrown);
      if (error.code === 'busy') return 'in progress';
      throw error;
    }
  }

  /** Removes the node's row, so that others need not wait for the end of its lease. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#session.isLost) {
      await this.#session.execute({ sql: removeNode, parameters: [this.node] }).catch(() => {});
    }
    await this.drop();
  }
}

export function takenOver(): StoreError {
  return new StoreError('locked', 'this node did not renew its lease, and another one has taken over its jobs');
}

async function openSession(url: string, store: object): Promise<Session> {
  const session = await Session.open(url, store);
  session.send({ sql: SETTINGS, parameters: [] });
  return session;
}

interface Registration {
  readonly instance: string | null;
  readonly range: SchemaRange;
}

async function register(session: Session, { instance, range }: Registration): Promise<number> {
  await beginRegistration(session, range);
  if (instance !== null) session.send({ sql: removePredecessor, parameters: [instance] });
  const { rows } = await session.execute<{ node: number }>({
    sql: insertNode,
    parameters: [instance ?? '', range.needs, range.knows],
  });
  await session.commit();
  if (rows[0] === undefined) throw new StoreError('corrupt', 'the database gave this node no number');
  return rows[0].node;
}
