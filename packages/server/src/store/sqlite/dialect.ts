/**
 * Lets Kysely work on one `node:sqlite` connection, with a cache of prepared statements. Queries run at once, on this thread: the
 * promises that Kysely returns are settled before the thread handles any other event.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { type Dialect, type QueryResult, SqliteAdapter, SqliteQueryCompiler } from 'kysely';
import { directDialect } from '../direct-dialect.ts';
import type { BoundQuery, StoreAdapter } from '../prepared.ts';

/** The most statements in the cache, to bound its memory. The store has fewer different queries. */
const statementsMax = 256;

/** Caches statements, so that each is compiled only once. When there are too many, the oldest is dropped. */
class StatementCache {
  readonly #database: DatabaseSync;
  /** A map for each form of rows, keyed by the statements' texts. A key joined from form and text would be hashed at each use. */
  readonly #statements = { objects: new Map<string, CachedStatement>(), lists: new Map<string, CachedStatement>() };

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Gets a statement. A cached statement always returns its rows in the same form. */
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
