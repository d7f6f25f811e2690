/** Lets Kysely work on one PostgreSQL session. The code that opens the session also closes it. */
import { type Dialect, PostgresAdapter, PostgresQueryCompiler, type QueryResult } from 'kysely';
import { directDialect } from '../direct-dialect.ts';
import type { BoundQuery, StoreAdapter } from '../prepared.ts';

/** What the query builder needs from a session. `command` is the tag of PostgreSQL's answer. */
export interface Queries extends Pick<StoreAdapter, 'node' | 'lists' | 'send' | 'together'> {
  execute<Row>(query: BoundQuery): Promise<{ rows: Row[]; rowCount: number | null; command: string }>;
}

class SessionAdapter extends PostgresAdapter implements StoreAdapter {
  readonly store: object;
  readonly #queries: Queries;

  constructor(queries: Queries, store: object) {
    super();
    this.#queries = queries;
    this.store = store;
  }

  get node(): number | null {
    return this.#queries.node;
  }

  async execute<Row>(query: BoundQuery): Promise<QueryResult<Row>> {
    const { rows, rowCount } = await this.#queries.execute<Row>(query);
    return { rows, numAffectedRows: BigInt(rowCount ?? 0) };
  }

  lists(query: BoundQuery) {
    return this.#queries.lists(query);
  }

  send(query: BoundQuery): void {
    this.#queries.send(query);
  }

  together(sends: () => void): void {
    this.#queries.together(sends);
  }
}

/** The dialect for one session. `store` is an object that all sessions of an open store share. */
export function postgresDialect(queries: Queries, store: object): Dialect {
  return directDialect(new SessionAdapter(queries, store), new PostgresQueryCompiler());
}
