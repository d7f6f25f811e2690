/**
 * Kysely on one connection of `node:sqlite`, with a cache of prepared statements. Queries run at once and on this
 * thread: the promises that Kysely returns are settled before any other event of the thread is handled.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { BoundQuery, StoreAdapter } from '../prepared.ts';

/** Bounds the memory of the cache: the store has fewer shapes of query than this. */
const statementsMax = 256;

/** Statements that are compiled once. The oldest goes when there are too many. */
class StatementCache {
  readonly #database: DatabaseSync;
  /** The statements by how they return rows, and then by their text: a name of both would be hashed anew at each use. */
  readonly #statements = { objects: new Map<string, CachedStatement>(), lists: new Map<string, CachedStatement>() };

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** A statement always returns its rows in the same form. */
  get(text: string, rows: 'objects' | 'lists' = 'objects'): CachedStatement {
    const statements = this.#statements[rows];
    const known = statements.get(text);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(text);
    if (rows === 'lists') statement.setReturnArrays(true);
    const cached = { statement, returnsRows: statement.columns().length > 0 };
    statements.set(text, cached);
    evict(statements);
    return cached;
  }
}

function evict(statements: Map<string, CachedStatement>): void {
  if (statements.size <= statementsMax) return;
  const [oldest] = statements.keys();
  if (oldest !== undefined) statements.delete(oldest);
}

interface CachedStatement {
  readonly statement: StatementSync;
  readonly returnsRows: boolean;
}

class SqliteConnection implements DatabaseConnection {
  readonly #statements: StatementCache;

  constructor(database: DatabaseSync) {
    this.#statements = new StatementCache(database);
  }

  executeNow<Row>(query: BoundQuery): QueryResult<Row> {
    const { statement, returnsRows } = this.#statements.get(query.sql);
    const parameters = query.parameters as readonly SQLInputValue[];
    if (returnsRows) return { rows: statement.all(...parameters) as Row[] };
    const { changes } = statement.run(...parameters);
    return { numAffectedRows: BigInt(changes), rows: [] };
  }

  lists(query: BoundQuery): readonly (readonly unknown[])[] {
    const { statement } = this.#statements.get(query.sql, 'lists');
    return statement.all(
      ...(query.parameters as readonly SQLInputValue[]),
    ) as unknown as readonly (readonly unknown[])[];
  }

  send(query: BoundQuery): void {
    const { statement } = this.#statements.get(query.sql);
    statement.run(...(query.parameters as readonly SQLInputValue[]));
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    return this.executeNow(query);
  }

  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    yield await this.executeQuery<Row>(query);
  }
}

class SqliteDriver implements Driver {
  readonly #connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'));
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('rollback'));
  }

  async releaseConnection(): Promise<void> {}

  /** The code that opened the connection closes it. */
  async destroy(): Promise<void> {}
}

class SqliteConnectionAdapter extends SqliteAdapter implements StoreAdapter {
  readonly store: object;
  readonly node = null;
  readonly #connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    super();
    this.#connection = connection;
    this.store = connection;
  }

  execute<Row>(query: BoundQuery): QueryResult<Row> {
    return this.#connection.executeNow(query);
  }

  lists(query: BoundQuery): readonly (readonly unknown[])[] {
    return this.#connection.lists(query);
  }

  send(query: BoundQuery): void {
    this.#connection.send(query);
  }

  together(sends: () => void): void {
    sends();
  }
}

/** The dialect of one open connection, which it neither opens nor closes. */
export function sqliteDialect(database: DatabaseSync): Dialect {
  const connection = new SqliteConnection(database);
  return {
    createAdapter: () => new SqliteConnectionAdapter(connection),
    createDriver: () => new SqliteDriver(connection),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}
