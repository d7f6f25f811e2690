/**
 * Kysely on one connection that is already open: it builds queries and runs them on that connection. This dialect opens and
 * closes nothing. It begins no transaction, either: the store's transactions are begun where its changes are grouped.
 */
import assert from 'node:assert';
import type { CompiledQuery, DatabaseConnection, Dialect, QueryCompiler } from 'kysely';
import type { StoreAdapter } from './prepared.ts';

const nothing = async () => {};
const notAsked = (): never => assert.fail('the store asks this of its connection itself');

export function directDialect(adapter: StoreAdapter, compiler: QueryCompiler): Dialect {
  const connection: DatabaseConnection = {
    executeQuery: async <Row>(query: CompiledQuery) => adapter.execute<Row>(query),
    streamQuery: notAsked,
  };
  return {
    createAdapter: () => adapter,
    createDriver: () => ({
      init: nothing,
      acquireConnection: async () => connection,
      beginTransaction: notAsked,
      commitTransaction: notAsked,
      rollbackTransaction: notAsked,
      releaseConnection: nothing,
      destroy: nothing,
    }),
    createQueryCompiler: () => compiler,
    createIntrospector: notAsked,
  };
}
