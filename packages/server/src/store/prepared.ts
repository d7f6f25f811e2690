/**
 * Queries that are built and compiled once for a database and then run with fresh parameters. Building one costs more
 * than running it on SQLite, so whatever every job or every event passes through is prepared.
 */
import assert from 'node:assert';
import type { CompiledQuery, QueryResult } from 'kysely';
import type { LedgerDatabase } from './schema.ts';

/** A query of this floor with named parameters. Its methods run it; none of them commits. */
export interface PreparedQuery<Parameters, Row> {
  all(db: LedgerDatabase, parameters: Parameters): Promise<Row[]>;
  /** The first row, or null where there is none. */
  first(db: LedgerDatabase, parameters: Parameters): Promise<Row | null>;
  /** Runs it for its effect and says how many rows it changed. */
  run(db: LedgerDatabase, parameters: Parameters): Promise<number>;
}

interface Compilable<Row> {
  compile(): CompiledQuery<Row>;
}

/** Stands in a compiled query for the parameter of this name. */
class Placeholder {
  readonly parameter: string;
  constructor(parameter: string) {
    this.parameter = parameter;
  }
}

/**
 * Prepares a query. `build` is called once per dialect with placeholders for its parameters: it may place them, but not
 * look at them, iterate over them or decide by them.
 */
export function prepared<Parameters extends object, Row>(
  build: (db: LedgerDatabase, parameters: Parameters) => Compilable<Row>,
): PreparedQuery<Parameters, Row> {
  const compiledByAdapter = new WeakMap<object, CompiledQuery<Row>>();
  const compiled = (db: LedgerDatabase): CompiledQuery<Row> => {
    const { adapter } = db.getExecutor();
    const known = compiledByAdapter.get(adapter);
    if (known !== undefined) return known;
    const query = build(db, placeholders<Parameters>()).compile();
    compiledByAdapter.set(adapter, query);
    return query;
  };
  const execute = (db: LedgerDatabase, parameters: Parameters): Promise<QueryResult<Row>> =>
    db.executeQuery(bound(compiled(db), parameters as Readonly<Record<string, unknown>>));
  return {
    all: async (db, parameters) => (await execute(db, parameters)).rows,
    first: async (db, parameters) => (await execute(db, parameters)).rows[0] ?? null,
    run: async (db, parameters) => Number((await execute(db, parameters)).numAffectedRows ?? 0),
  };
}

function placeholders<Parameters extends object>(): Parameters {
  return new Proxy({}, { get: (_, name) => new Placeholder(String(name)) }) as Parameters;
}

function bound<Row>(query: CompiledQuery<Row>, values: Readonly<Record<string, unknown>>): CompiledQuery<Row> {
  const parameters = query.parameters.map((parameter) => {
    if (!(parameter instanceof Placeholder)) return parameter;
    const value = values[parameter.parameter];
    assert(value !== undefined, `the query's parameter ${parameter.parameter} is missing`);
    return value;
  });
  return { ...query, parameters };
}
