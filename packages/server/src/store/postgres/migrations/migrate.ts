/**
 * Brings the tables of a PostgreSQL store to the schema of this program. Each migration is one transaction, and one
 * service migrates at a time. It never downgrades, and refuses a store of a later program, and a schema that holds
 * something else. The names have the form of those of a SQLite store, and their numbers mean the same.
 */
import { StoreError } from '../../store-error.ts';
import type { Session } from '../session.ts';
import { createTables } from './0004-tables.ts';
import { moveExecutions } from './0004-with-execution.ts';
import { createNodes } from './0004-with-nodes.ts';
import { addUploads } from './0004-with-uploads.ts';

/** Every migration by its name. */
const MIGRATIONS: Readonly<Record<string, string>> = {
  '0004-tables': createTables,
  '0004-with-execution': moveExecutions,
  '0004-with-nodes': createNodes,
  '0004-with-uploads': addUploads,
};

const newest = Object.keys(MIGRATIONS).sort().at(-1) ?? '';

/** Held while one service migrates; others wait. */
const MIGRATING = `hashtextextended('vouchbox migration in ' || current_schema(), 0)`;

/** Tables of the schema in which the session makes its tables, without those of extensions. */
const tablesHere = `
  select relname as name from pg_class
  where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
    and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')`;

/**
 * @throws StoreError `newer_schema`, `unrecognised` or `unopenable`, having changed nothing; or the error of a migration
 * that failed
 */
export async function migrate(session: Session): Promise<void> {
  await session.execute({ sql: `select pg_advisory_lock(${MIGRATING})::text`, parameters: [] });
  try {
    await migrateAlone(session);
  } finally {
    if (!session.isLost) session.send({ sql: `select pg_advisory_unlock(${MIGRATING})`, parameters: [] });
  }
}

async function migrateAlone(session: Session): Promise<void> {
  const applied = await appliedMigrations(session);
  for (const [name, statements] of Object.entries(MIGRATIONS)) {
    if (applied.includes(name)) continue;
    session.begin();
    for (const statement of statements.split(';\n')) {
      if (statement.trim() !== '') session.send({ sql: statement, parameters: [] });
    }
    const parameters = [name, new Date().toISOString()];
    session.send({ sql: 'insert into schema_history (name, timestamp) values ($1, $2)', parameters });
    await session.commit();
  }
}

async function appliedMigrations(session: Session): Promise<readonly string[]> {
  const schema = await session.execute<{ name: string | null }>({
    sql: 'select current_schema()::text as name',
    parameters: [],
  });
  if (schema.rows[0]?.name == null) throw new StoreError('unopenable', 'the search path of the database has no schema');
  const tables = (await session.execute<{ name: string }>({ sql: tablesHere, parameters: [] })).rows;
  if (tables.length === 0) await createHistory(session);
  else if (!tables.some(({ name }) => name === 'schema_history')) {
    throw new StoreError('unrecognised', 'the database has tables that do not belong to this service');
  }
  const { rows } = await session.execute<{ name: string }>({ sql: 'select name from schema_history', parameters: [] });
  const applied = rows.map(({ name }) => name);
  refuseUnknown(applied.filter((name) => !Object.hasOwn(MIGRATIONS, name)));
  return applied;
}

async function createHistory(session: Session): Promise<void> {
  const sql = 'create table schema_history (name text collate "C" primary key, timestamp text collate "C" not null)';
  await session.execute({ sql, parameters: [] });
}

function refuseUnknown(unknown: readonly string[]): void {
  const last = unknown.toSorted().at(-1);
  if (last === undefined) return;
  if (last > newest) throw new StoreError('newer_schema', `the database has schema ${last}, newer than ${newest}`);
  throw new StoreError('unrecognised', `the database has the unknown schema ${last}`);
}
