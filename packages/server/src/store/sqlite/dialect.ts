/**
 * Kysely on one connection of `node:sqlite`, with a cache of prepared statements. Queries run at once and on this
 * thread: the promises that Kysely returns are settled before any other event of the thread is handled.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { type Dialect, type QueryResult, SqliteAdapter, SqliteQueryCompiler } from 'kysely';
import { directDialect } from '../direct-dialect.ts';
import type { BoundQuery, StoreAdapter } from '../prepared.ts';

/** The most statements in the cache, which bounds its memory. The store has fewer different queries. */
const statementsMax = 256;

/** The cache of statements, each of which is compiled once. The oldest statement is dropped when there are too many. */
class StatementCache {
  readonly #database: DatabaseSync;
  /** The statements by how they return rows, and then by their text. A key made of both would be hashed anew at each use. */
  readonly #statements = { objects: new Map<string, CachedStatement>(), lists: new Map<string, CachedStatement>() };

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Gets a statement, which always returns its rows in the same form. */
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

class SqliteConnectionAdapter extends SqliteAdapter implements StoreAdapter {
  readonly store = this;
  readonly node = null;
  readonly #statements: StatementCache;

  constructor(database: DatabaseSync) {
    super();
    this.#statements = new StatementCache(database);
  }

  execute<Row>(query: BoundQuery): QueryResult<Row> {
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

  together(sends: () => void): void {
    sends();
  }
}

export function sqliteDialect(database: DatabaseSync): Dialect {
  return directDialect(new SqliteConnectionAdapter(database), new SqliteQueryCompiler());
}
