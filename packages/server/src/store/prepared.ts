/**
 * Queries that are built and compiled once for a database and then run with new parameters, directly on its connection.
 * Building a query, or finding a connection for it, costs more than running it on SQLite, so the queries of every job
 * and every event are prepared.
 */
import assert from 'node:assert';
import type { CompiledQuery, DialectAdapter, QueryResult } from 'kysely';
import type { StoreDatabase } from './schema.ts';

/** A query of the store with named parameters. Its methods run it; none of them commits. */
export interface PreparedQuery<Parameters, Row> {
  all(db: StoreDatabase, parameters: Parameters): Promise<Row[]>;
  /** The rows as lists of their columns, in the order of the query. For many rows this costs half as much. */
  lists(db: StoreDatabase, parameters: Parameters): readonly (readonly unknown[])[];
  /** The rows one by one, each read when it is requested. No other rows of the same query may be read meanwhile. */
  each(db: StoreDatabase, parameters: Parameters): Iterable<Row>;
  /** The first row, or null if there is none. */
  first(db: StoreDatabase, parameters: Parameters): Promise<Row | null>;
  /** Runs it and returns how many rows it changed. */
  run(db: StoreDatabase, parameters: Parameters): Promise<number>;
  /** Runs it once with each of these parameters. */
  runEach(db: StoreDatabase, each: Iterable<Parameters>): void;
}

/** A dialect whose one connection runs a query at once. A query that fails throws. */
export interface DirectAdapter extends DialectAdapter {
  executeNow<Row>(query: Pick<CompiledQuery<Row>, 'sql' | 'parameters'>): QueryResult<Row>;
  /** The rows of a query as lists of their columns. */
  lists(query: Pick<CompiledQuery, 'sql' | 'parameters'>): readonly (readonly unknown[])[];
  /** Runs a query that yields no rows once for each list of parameters. */
  runEach(sql: string, parameters: Iterable<readonly unknown[]>): void;
  /** The rows of a query as they are read. */
  iterate<Row>(query: Pick<CompiledQuery<Row>, 'sql' | 'parameters'>): Iterable<Row>;
}

interface Compilable<Row> {
  compile(): CompiledQuery<Row>;
}

/** The place of the parameter of this name in a compiled query. */
class Placeholder {
  readonly parameter: string;
  constructor(parameter: string) {
    this.parameter = parameter;
  }
}

/**
 * Prepares a query. `build` is called once per dialect with placeholders for its parameters: it may place them, but
 * must not inspect them, iterate over them or decide by them.
 */
export function prepared<Parameters extends object, Row>(
  build: (db: StoreDatabase, parameters: Parameters) => Compilable<Row>,
): PreparedQuery<Parameters, Row> {
  const compiledByAdapter = new WeakMap<object, CompiledQuery<Row>>();
  const compiled = (db: StoreDatabase, adapter: DirectAdapter): CompiledQuery<Row> => {
    const known = compiledByAdapter.get(adapter);
    if (known !== undefined) return known;
    const query = build(db, placeholders<Parameters>()).compile();
    compiledByAdapter.set(adapter, query);
    return query;
  };
  const boundQuery = (db: StoreDatabase, adapter: DirectAdapter, parameters: Parameters) => {
    const { sql, parameters: places } = compiled(db, adapter);
    return { sql, parameters: bound(places, parameters as Readonly<Record<string, unknown>>) };
  };
  const execute = (db: StoreDatabase, parameters: Parameters): QueryResult<Row> => {
    const adapter = directAdapter(db);
    return adapter.executeNow(boundQuery(db, adapter, parameters));
  };
  return {
    all: async (db, parameters) => execute(db, parameters).rows,
    lists: (db, parameters) => {
      const adapter = directAdapter(db);
      return adapter.lists(boundQuery(db, adapter, parameters));
    },
    each: (db, parameters) => {
      const adapter = directAdapter(db);
      return adapter.iterate(boundQuery(db, adapter, parameters));
    },
    first: async (db, parameters) => execute(db, parameters).rows[0] ?? null,
    run: async (db, parameters) => Number(execute(db, parameters).numAffectedRows ?? 0),
    runEach: (db, each) => {
      const adapter = directAdapter(db);
      const { sql, parameters: places } = compiled(db, adapter);
      adapter.runEach(sql, boundEach(places, each));
    },
  };
}

function directAdapter(db: StoreDatabase): DirectAdapter {
  const { adapter } = db.getExecutor();
  assert('executeNow' in adapter, 'the dialect of the store runs its queries at once');
  return adapter as DirectAdapter;
}

function placeholders<Parameters extends object>(): Parameters {
  return new Proxy({}, { get: (_, name) => new Placeholder(String(name)) }) as Parameters;
}

function* boundEach(places: readonly unknown[], each: Iterable<object>): Generator<readonly unknown[]> {
  for (const parameters of each) yield bound(places, parameters as Readonly<Record<string, unknown>>);
}

function bound(places: readonly unknown[], values: Readonly<Record<string, unknown>>): readonly unknown[] {
  return places.map((place) => {
    if (!(place instanceof Placeholder)) return place;
    const value = values[place.parameter];
    assert(value !== undefined, `the query's parameter ${place.parameter} is missing`);
    return value;
  });
}
