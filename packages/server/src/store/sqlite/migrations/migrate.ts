/**
 * Brings a store to this program's schema, at every start. Each step is one transaction, so an upgrade that stops half-way
 * continues at the next start. A store from a later program is refused.
 */
import { historyOf } from '../../migrations/history.ts';
import { remainingOf, statementsOf } from '../../migrations/steps.ts';
import { StoreError } from '../../store-error.ts';
import type { Connection } from '../connection.ts';
import { HISTORY, type SqliteStep, STEPS, TAKEOVER } from './steps.ts';

/** The name, in the store's history, of the schema that this program reads and writes. */
export const SCHEMA_NAME = STEPS.at(-1)?.name ?? '';

export interface MigrateOptions {
  /** Called once before a store of an older version is changed. */
  readonly beforeUpgrade?: () => void;
  /** The last step to take. Default: the last of all. */
  readonly until?: string;
}

/**
 * @throws StoreError `newer_schema` or `unrecognised`, having changed nothing; or the error of a step that failed
 */
export async function migrate(
  connection: Pick<Connection, 'database' | 'db'>,
  { beforeUpgrade, until = SCHEMA_NAME }: MigrateOptions = {},
): Promise<void> {
  const history = await historyOf(connection.db, HISTORY);
  const { left, unknown } = remainingOf(history, STEPS, TAKEOVER);
  refuseUnknown(unknown.at(-1));
  const wanted = left.filter(({ name }) => name <= until);
  if (history.length > 0 && wanted.length > 0) beforeUpgrade?.();
  for (const step of wanted) await take(connection, step);
}

function refuseUnknown(last: string | undefined): void {
  if (last === undefined) return;
  if (last > SCHEMA_NAME)
    throw new StoreError('newer_schema', `the database has schema ${last}, newer than ${SCHEMA_NAME}`);
  throw new StoreError('unrecognised', `the database has the unknown schema ${last}`);
}

async function take({ database, db }: Pick<Connection, 'database' | 'db'>, step: SqliteStep): Promise<void> {
  database.exec('begin immediate');
  try {
    for (const statement of statementsOf(step)) database.exec(statement);
    await step.fill?.(db);
    database.prepare('insert into schema_history values (?, ?)').run(step.name, new Date().toISOString());
    database.exec('commit');
  } catch (thrown) {
    // SQLite ends the transaction by itself when space runs out.
    if (database.isTransaction) database.exec('rollback');
    throw thrown;
  }
}
