/** Reads the schema history of either kind of store. */
import { CompiledQuery } from 'kysely';
import type { StoreDatabase } from '../schema.ts';
import { StoreError } from '../store-error.ts';

/** How a kind of store finds its schema history. */
export interface HistoryTable {
  /** A query that returns the names of all tables as `name`. */
  readonly tables: string;
  readonly create: string;
}

/** The names in the history. An empty database gets a history. @throws StoreError `unrecognised` if the database is no store */
export async function historyOf(db: StoreDatabase, { tables, create }: HistoryTable): Promise<readonly string[]> {
  const present = await namesIn(db, tables);
  if (present.length === 0) await db.executeQuery(CompiledQuery.raw(create));
  else if (!present.includes('schema_history'))
    throw new StoreError('unrecognised', 'the database has tables that do not belong to this service');
  return await namesIn(db, 'select name from schema_history');
}

async function namesIn(db: StoreDatabase, sql: string): Promise<string[]> {
  const { rows } = await db.executeQuery<{ name: string }>(CompiledQuery.raw(sql));
  return rows.map(({ name }) => name);
}
