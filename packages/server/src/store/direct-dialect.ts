/**
 * Lets Kysely build queries and run them on one connection that is already open. This dialect opens and closes nothing. It begins
 * no transaction either: the code that groups the store's changes does that.
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
