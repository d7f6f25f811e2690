/**
 * The one session that changes a store. It holds an advisory lock of the database, which ends with the session, however
 * that ends. So no change is ever committed by a service that does not hold the store. A lost session is replaced when
 * the next change comes, unless another service has held the store meanwhile: what this one keeps in memory may then be
 * wrong. https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS
 */
import { StoreError } from '../store-error.ts';
import { migrate } from './migrations/migrate.ts';
import { postgresErrorOf } from './postgres-error.ts';
import { Session } from './session.ts';

/** A store is one schema of one database. */
const takeLock = `select pg_try_advisory_lock(hashtextextended('vouchbox store in ' || current_schema(), 0)) as taken`;

const nextTurn = 'update holders set turn = turn + 1 where holder_id = 1 returning turn';
const presentTurn = 'select turn from holders where holder_id = 1';

/** What became of a transaction: the server does not say for a very old one. */
type Outcome = 'committed' | 'aborted' | 'in progress' | null;

export class WritingSession implements AsyncDisposable {
  readonly #url: string;
  readonly #store: object;
  #session: Session;
  /** How often a service has taken the store, until this one did. */
  readonly #turn: number;

  private constructor(url: string, store: object, { session, turn }: { session: Session; turn: number }) {
    this.#url = url;
    this.#store = store;
    this.#session = session;
    this.#turn = turn;
  }

  /** @throws StoreError `locked` if another service, or this one a second time, holds the store */
  static async open(url: string, store: object): Promise<WritingSession> {
    const session = await Session.open(url, store);
    try {
      if (!(await isTaken(session))) throw new StoreError('locked', 'another service holds this store');
      await migrate(session);
      return new WritingSession(url, store, { session, turn: await turnBy(session, nextTurn) });
    } catch (thrown) {
      await session[Symbol.asyncDispose]();
      throw postgresErrorOf(thrown);
    }
  }

  /**
   * The session, or another one if it was lost.
   *
   * @throws StoreError `unreachable` while there can be none, `locked` for ever once another service has held the store
   */
  async current(): Promise<Session> {
    if (!this.#session.isLost) return this.#session;
    const session = await Session.open(this.#url, this.#store);
    try {
      await this.#retake(session);
    } catch (thrown) {
      await session[Symbol.asyncDispose]();
      throw thrown;
    }
    this.#session = session;
    return session;
  }

  /** Ends the session: the next change opens another. */
  async drop(): Promise<void> {
    await this.#session[Symbol.asyncDispose]();
  }

  /** What became of a transaction of a session that was lost. */
  async outcomeOf(transaction: string): Promise<Outcome> {
    const asked = { sql: 'select pg_xact_status($1::text::xid8) as outcome', parameters: [transaction] };
    const { rows } = await (await this.current()).execute<{ outcome: Outcome }>(asked);
    return rows[0]?.outcome ?? null;
  }

  /** The server may hold the lock of the lost session until it notices the loss. */
  async #retake(session: Session): Promise<void> {
    if (!(await isTaken(session))) throw new StoreError('unreachable', 'the database still holds a lost session');
    if ((await turnBy(session, presentTurn)) === this.#turn) return;
    throw new StoreError('locked', 'another service has held this store meanwhile');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drop();
  }
}

async function isTaken(session: Session): Promise<boolean> {
  const { rows } = await session.execute<{ taken: boolean }>({ sql: takeLock, parameters: [] });
  return rows[0]?.taken === true;
}

async function turnBy(session: Session, sql: string): Promise<number> {
  const { rows } = await session.execute<{ turn: number }>({ sql, parameters: [] });
  if (rows[0] === undefined) throw new StoreError('corrupt', 'the table holders of the database is empty');
  return rows[0].turn;
}
