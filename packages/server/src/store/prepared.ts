/**
 * Queries that are built and compiled once for a connection, and then run directly on it with new parameters. On SQLite, building
 * a query or finding a connection costs more than running the query, so queries for every job and every event are prepared. The
 * kinds of store differ only in how a connection runs queries: see `StoreAdapter`.
 */
import assert from 'node:assert';
import type { CompiledQuery, DialectAdapter, QueryResult } from 'kysely';
import type { StoreDatabase } from './schema.ts';

/** A query with named parameters. The methods run the query; none of them commits. */
export interface PreparedQuery<Parameters, Row> {
  all(db: StoreDatabase, parameters: Parameters): Promise<Row[]>;
  /** Returns each row as a list of its columns, in the query's order. With many rows, this halves the cost. */
  lists(db: StoreDatabase, parameters: Parameters): Promise<readonly (readonly unknown[])[]>;
  /** Returns the first row, or null if there is none. */
  first(db: StoreDatabase, parameters: Parameters): Promise<Row | null>;
  /** Runs the query and returns how many rows it changed. */
  run(db: StoreDatabase, parameters: Parameters): Promise<number>;
  /**
   * Runs a change whose result does not matter, without waiting for the database's answer. If the change fails, so does its
   * transaction: one of the later queries throws, or the commit does.
   */
  send(db: StoreDatabase, parameters: Parameters): void;
  /** Sends the change once with each of these parameters. */
  sendEach(db: StoreDatabase, each: Iterable<Parameters>): void;
}

/** A compiled query text and its parameters. */
export type BoundQuery = Pick<CompiledQuery, 'sql' | 'parameters'>;

/** How one connection runs queries. Queries run in the order of the calls, even if their answers come later. */
export interface StoreAdapter extends DialectAdapter {
  /** The object that represents the open store. It is the same on all of the store's connections. */
  readonly store: object;
  /** The number of this process among those that share the store; null in a store for one process. */
  readonly node: number | null;
  execute<Row>(query: BoundQuery): QueryResult<Row> | Promise<QueryResult<Row>>;
  /** The rows of a query as lists of their columns. */
  lists(query: BoundQuery): readonly (readonly unknown[])[] | Promise<readonly (readonly unknown[])[]>;
  /** Runs a query that yields no rows. If the query fails, a later call may throw its error. */
  send(query: BoundQuery): void;
  /** Runs everything that `sends` sends. If each query would cost a round trip, all of them are sent in one piece. */
  together(sends: () => void): void;
}

interface Compilable<Row> {
  compile(): CompiledQuery<Row>;
}

/** Stands for the parameter with this name in a compiled query. */
class Placeholder {
  readonly parameter: string;
  constructor(parameter: string) {
    this.parameter = parameter;
  }
}

/**
 * Prepares a query. `build` is called once per dialect, with placeholders for its parameters. It may put the placeholders into
 * the query, but must not inspect them, iterate over them or let them decide anything.
 */
export function prepared<Parameters extends object, Row>(
  build: (db: StoreDatabase, parameters: Parameters) => Compilable<Row>,
): PreparedQuery<Parameters, Row> {
  const compiledByAdapter = new WeakMap<object, CompiledQuery<Row>>();
  const compiled = (db: StoreDatabase, adapter: StoreAdapter): CompiledQuery<Row> => {
    const known = compiledByAdapter.get(adapter);
    if (known !== undefined) return known;
    const query = build(db, placeholders<Parameters>()).compile();
    compiledByAdapter.set(adapter, query);
    return query;
  };
  const boundQuery = (db: StoreDatabase, adapter: StoreAdapter, parameters: Parameters): BoundQuery => {
    const { sql, parameters: places } = compiled(db, adapter);
    return { sql, parameters: bound(places, parameters as Readonly<Record<string, unknown>>) };
  };
  const execute = (db: StoreDatabase, parameters: Parameters): QueryResult<Row> | Promise<QueryResult<Row>> => {
    const adapter = adapterOf(db);
    return adapter.execute(boundQuery(db, adapter, parameters));
  };
  return {
    all: async (db, parameters) => (await execute(db, parameters)).rows,
    lists: async (db, parameters) => {
      const adapter = adapterOf(db);
      return await adapter.lists(boundQuery(db, adapter, parameters));
    },
    first: async (db, parameters) => (await execute(db, parameters)).rows[0] ?? null,
    run: async (db, parameters) => Number((await execute(db, parameters)).numAffectedRows ?? 0),
    send: (db, parameters) => {
      const adapter = adapterOf(db);
      adapter.send(boundQuery(db, adapter, parameters));
    },
    sendEach: (db, each) => {
      const adapter = adapterOf(db);
      for (const parameters of each) adapter.send(boundQuery(db, adapter, parameters));
    },
  };
}

/**
 * Sends changes that a store may make in one statement. They must change different rows, and none may depend on the effect of
 * another.
 */
export function together(db: StoreDatabase, sends: () => void): void {
  adapterOf(db).together(sends);
}

/** The object that represents a connection's store. Facts about a store are remembered under this object. */
export function storeOf(db: StoreDatabase): object {
  return adapterOf(db).store;
}

/** The number of this process among those that share the store; null in a store for one process. */
export function nodeOf(db: StoreDatabase): number | null {
  return adapterOf(db).node;
}

/** The number of this process in a store that nodes share, where every process has a number. */
export function requireNode(db: StoreDatabase): number {
  const node = nodeOf(db);
  assert(node !== null, 'nodes share this store');
  return node;
}

function adapterOf(db: StoreDatabase): StoreAdapter {
  const { adapter } = db.getExecutor();
  assert('store' in adapter, 'the dialect of the store runs its queries directly');
  return adapter as StoreAdapter;
}

function placeholders<Parameters extends object>(): Parameters {
  return new Proxy({}, { get: (_, name) => new Placeholder(String(name)) }) as Parameters;
}

function bound(places: readonly unknown[], values: Readonly<Record<string, unknown>>): readonly unknown[] {
  return places.map((place) => {
    if (!(place instanceof Placeholder)) return place;
    const value = values[place.parameter];
    assert(value !== undefined, `the query's parameter ${place.parameter} is missing`);
    return value;
  });
}
