/**
 * One connection to a PostgreSQL database. Only this module loads the driver. Queries are sent at once and answered in order, so
 * a transaction costs one round trip for each answer that is waited for.
 */
import { Kysely } from 'kysely';
import type { Client, ClientConfig, QueryArrayResult, QueryConfig, QueryResult } from 'pg';
import type { BoundQuery } from '../prepared.ts';
import type { StoreDatabase, Tables } from '../schema.ts';
import { StoreError } from '../store-error.ts';
import { postgresDialect, type Queries } from './dialect.ts';
import { encryptionOf } from './encryption.ts';
import { storeErrorOf } from './error.ts';
import { fromStoredText, toStoredText } from './text.ts';

/** How long to wait for a connection, and for one query's answer unless the caller sets a shorter time. */
const connectMillisecondsMax = 5000;
const answerMillisecondsMax = 60_000;

/** The most changes in one statement. Each combination of changes has its own text, and the server keeps every text. */
const togetherMax = 8;

/** The oldest server version, which has `pg_current_xact_id` and `pg_xact_status`. */
const versionMin = 130_000;

/**
 * The settings of a session. An answered commit must be on disk, and the settings of a role or database must not weaken this. The
 * other settings end the sessions of a client that stopped or was cut off, because such sessions hold locks.
 */
const SETTINGS = `
  set client_encoding = 'UTF8';
  select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') <> 'remote_apply';
  set idle_in_transaction_session_timeout = '60s';
  set tcp_keepalives_idle = 10;
  set tcp_keepalives_interval = 5;
  set tcp_keepalives_count = 3;
  select set_config('tcp_user_timeout', '30000', false)`;

/** How PostgreSQL's types are converted, by object identifier: pg_type.dat. */
const TYPES: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === 't', // bool
  17: (text) => Uint8Array.fromHex(text.slice(2)), // bytea
  20: wholeNumber, // int8
  21: Number, // int2
  23: Number, // int4
  25: fromStoredText, // text
  1043: fromStoredText, // varchar
  1700: wholeNumber, // numeric, the type of a sum of int8
};

function wholeNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new StoreError('corrupt', 'the database has a number that is too large');
  return number;
}

export class Session implements Queries, AsyncDisposable {
  readonly db: StoreDatabase;
  /** The node's number; null until the session has one. */
  node: number | null = null;
  /** How many queries have been sent on this connection. */
  asked = 0;
  readonly #client: Client;
  /** The names of statements, keyed by their texts, so that the server plans each statement only once. */
  readonly #names = new Map<string, string>();
  /** The texts of statements that join several changes, keyed by the texts of these changes. */
  readonly #joinedTexts = new Map<string, string>();
  #isLost = false;
  /** Whether the driver is holding back this turn's queries to write them together. */
  #isGathering = false;
  /** Changes that are being gathered into one statement; null if each is sent by itself. */
  #together: BoundQuery[] | null = null;
  /** The error of this transaction's first query that failed while nobody waited for it. */
  #failure: Error | null = null;

  private constructor(client: Client, store: object) {
    this.#client = client;
    this.db = new Kysely<Tables>({ dialect: postgresDialect(this, store) });
    // Without a listener, the end of an idle connection would end the process.
    client.on('error', () => this.#lose());
    client.on('end', () => this.#lose());
  }

  /**
   * Opens a connection. `store` is shared by an open store's connections. If a query is not answered in time, the session ends.
   *
   * @throws StoreError
   */
  static async open(url: string, store: object, answerMilliseconds = answerMillisecondsMax): Promise<Session> {
    const { url: connectionString, ssl } = encryptionOf(url);
    const client = await newClient({
      connectionString,
      ...(ssl !== undefined && { ssl }),
      application_name: 'vouchbox',
      connectionTimeoutMillis: connectMillisecondsMax,
      query_timeout: answerMilliseconds,
      keepAlive: true,
      pipeline: true,
      types: { getTypeParser: ((oid: number) => TYPES[oid] ?? String) as never },
    });
    const session = new Session(client, store);
    try {
      await client.connect();
      await client.query(SETTINGS);
      await session.#checkServer();
      return session;
    } catch (thrown) {
      await session[Symbol.asyncDispose]();
      throw storeErrorOf(thrown);
    }
  }

  /** Whether the session can no longer be used. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** The answer to a query, or the error of an earlier query for which nobody waited. */
  execute<Row>(query: BoundQuery): Promise<QueryResult<Row & object>> {
    return this.#answerTo(this.#named(query));
  }

  lists(query: BoundQuery): Promise<readonly (readonly unknown[])[]> {
    const listed = { ...this.#named(query), rowMode: 'array' as const };
    return this.#answerTo<QueryArrayResult>(listed).then(({ rows }) => rows);
  }

  /** Sends a query without waiting. If it fails, the next query that somebody waits for also fails, or else the commit does. */
  send(query: BoundQuery): void {
    if (this.#together !== null) {
      this.#together.push(query);
      return;
    }
    this.#ask(this.#named(query), (error) => {
      this.#failure ??= error ?? null;
    });
  }

  /** Gathers the changes that `sends` sends. If they are few, they go as one statement: see `together` in `prepared.ts`. */
  together(sends: () => void): void {
    const changes: BoundQuery[] = [];
    this.#together = changes;
    try {
      sends();
    } finally {
      this.#together = null;
    }
    const isOne = changes.length > 0 && changes.length <= togetherMax;
    for (const query of isOne ? [this.#joined(changes)] : changes) this.send(query);
  }

  /** Sends the beginning of a transaction. */
  begin(mode = ''): void {
    this.#failure = null;
    this.send({ sql: `begin ${mode}`, parameters: [] });
  }

  /** Resolves when the transaction is on disk. @throws the error of the transaction's first failed query */
  async commit(): Promise<void> {
    const failure = await this.tryCommit();
    if (failure !== null) throw failure;
  }

  /**
   * Resolves to null when the transaction is on disk, or to the error of the first failed query when the server has undone the
   * transaction.
   *
   * @throws if neither answer came. The transaction may still be on disk.
   */
  async tryCommit(): Promise<Error | null> {
    const { command } = await this.execute({ sql: 'commit', parameters: [] });
    if (command === 'COMMIT') return null;
    return this.#failure ?? new StoreError('internal', 'the transaction had failed');
  }

  /** Calls `listener` with each message on this session's channels. */
  onMessage(listener: (payload: string) => void): void {
    this.#client.on('notification', ({ payload }) => listener(payload ?? ''));
  }

  /** Resolves once the session receives messages that others send on this channel of the database. */
  async listen(channel: string): Promise<void> {
    await this.#once(`listen "${channel}"`);
  }

  unlisten(channel: string): void {
    void this.#once(`unlisten "${channel}"`).catch(() => {});
  }

  /** Undoes the transaction. */
  async rollback(): Promise<void> {
    this.#failure = null;
    await this.execute({ sql: 'rollback', parameters: [] });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#lose();
    await this.#client.end().catch(() => {});
  }

  /**
   * Sends a query. All queries of one turn are written together. By itself, the driver would write each query separately, and
   * these system calls took more time than everything else on the thread.
   */
  #ask<Result>(query: QueryConfig, answered: (error: Error | null, result: Result) => void): void {
    if (!this.#isGathering) {
      const { stream } = this.#client.connection;
      this.#isGathering = true;
      stream.cork();
      process.nextTick(() => {
        this.#isGathering = false;
        stream.uncork();
      });
    }
    this.asked += 1;
    void this.#client.query(query, answered as never);
  }

  #answerTo<Result>(query: QueryConfig): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#ask<Result>(query, (error, result) => {
        if (error === null || error === undefined) resolve(result);
        else reject(this.#failure ?? error);
      });
    });
  }

  /** Runs a statement whose text is not used again, so the server need not keep it. */
  #once(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#ask({ text }, (error) => (error === null || error === undefined ? resolve() : reject(error)));
    });
  }

  #lose(): void {
    this.#isLost = true;
  }

  #joined(changes: readonly BoundQuery[]): BoundQuery {
    const texts = changes.map(({ sql }) => sql);
    const name = texts.join(';');
    const sql = this.#joinedTexts.get(name) ?? joinedText(changes);
    this.#joinedTexts.set(name, sql);
    return { sql, parameters: changes.flatMap(({ parameters }) => parameters) };
  }

  #named({ sql, parameters }: BoundQuery) {
    const name = this.#names.get(sql) ?? `q${this.#names.size}`;
    this.#names.set(sql, name);
    return { name, text: sql, values: parameters.map(storedValue) };
  }

  async #checkServer(): Promise<void> {
    const asked = `select current_setting('server_version_num')::int as version,
      current_setting('server_encoding') as encoding`;
    const { rows } = await this.execute<{ version: number; encoding: string }>({ sql: asked, parameters: [] });
    const [{ version, encoding } = { version: 0, encoding: '' }] = rows;
    if (version < versionMin) throw new StoreError('unopenable', 'the database must be of PostgreSQL 13 or later');
    if (encoding !== 'UTF8')
      throw new StoreError('unopenable', `the database must have the encoding UTF8, not ${encoding}`);
  }
}

/**
 * Joins changes into one statement. Each change is one part of a `with`, and all parts see the rows as they were before.
 * https://www.postgresql.org/docs/current/queries-with.html#QUERIES-WITH-MODIFYING
 */
function joinedText(changes: readonly BoundQuery[]): string {
  const parts: string[] = [];
  let before = 0;
  for (const { sql, parameters } of changes) {
    const shift = before;
    parts.push(sql.replaceAll(/\$(\d+)/g, (_, place: string) => `$${Number(place) + shift}`));
    before += parameters.length;
  }
  const last = parts.pop() ?? '';
  const named = parts.map((text, at) => `change${at} as (${text})`);
  return named.length === 0 ? last : `with ${named.join(', ')} ${last}`;
}

/** A parameter as it is stored. Texts in an array are converted, too. */
function storedValue(value: unknown): unknown {
  if (typeof value === 'string') return toStoredText(value);
  return Array.isArray(value) ? value.map(storedValue) : value;
}

/** Loads the driver. It is an optional package: a service with a SQLite store does not need it. */
async function newClient(config: ClientConfig & { readonly pipeline: boolean }): Promise<Client> {
  const { default: pg } = await import('pg').catch((cause: unknown) => {
    throw new StoreError('unopenable', 'the package pg is not installed', { cause });
  });
  try {
    return new pg.Client(config);
  } catch {
    // The original error would quote the URL, which may have a password.
    throw new StoreError('unopenable', 'the database URL cannot be read');
  }
}
