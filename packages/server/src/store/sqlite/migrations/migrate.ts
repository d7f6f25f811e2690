/**
 * Brings a store to the schema of this program, at every start. Each migration is one transaction, so an upgrade that
 * dies half-way continues at the next start. It never downgrades, and refuses a store of a later program.
 *
 * Schemas are numbered by the receipts that they hold, and named in the store's own history: `0001` is that of v0.1,
 * `0003` that of v0.3.
 */
import { sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type { StoreDatabase } from '../../schema.ts';
import { StoreError } from '../../store-error.ts';
import { schemaOfV01 } from './0001-jobs.ts';
import { schemaOfV03 } from './0003-receipts.ts';
import { schemaOfV4 } from './0004-ledger.ts';
import { schemaOfRows } from './0004-ledger-rows.ts';
import { schemaOfRuns } from './0004-output-runs.ts';
import { schemaWithExecution } from './0004-with-execution.ts';
import { schemaWithUploads } from './0004-with-uploads.ts';
import { schemaWithUsedObjects } from './0004-with-used-objects.ts';

/** Every migration by its name, which begins with the number of the schema that it leads to. */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-jobs': schemaOfV01,
  '0003-receipts': schemaOfV03,
  '0004-ledger': schemaOfV4,
  '0004-ledger-rows': schemaOfRows,
  '0004-output-runs': schemaOfRuns,
  '0004-with-execution': schemaWithExecution,
  '0004-with-uploads': schemaWithUploads,
  '0004-with-used-objects': schemaWithUsedObjects,
};

const HISTORY_TABLE = 'schema_history';
/** The name of the schema that this program reads and writes, in the store's history. */
export const SCHEMA_NAME = Object.keys(MIGRATIONS).sort().at(-1) ?? '';

export interface MigrateOptions {
  /** Called once before a store of an older version changes. */
  readonly beforeUpgrade?: () => void;
  /** The last migration to apply. Without it, all are applied. */
  readonly until?: string;
}

/**
 * @throws StoreError `newer_schema` or `unrecognised`, having changed nothing; or the error of a migration that failed
 */
export async function migrate(
  db: StoreDatabase,
  { beforeUpgrade, until = SCHEMA_NAME }: MigrateOptions = {},
): Promise<void> {
  const applied = await appliedMigrations(db);
  const pending = Object.keys(MIGRATIONS).filter((name) => name <= until && !applied.includes(name));
  if (applied.length > 0 && pending.length > 0) beforeUpgrade?.();
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => ({ ...MIGRATIONS }) },
    migrationTableName: HISTORY_TABLE,
    migrationLockTableName: `${HISTORY_TABLE}_lock`,
  });
  for (const name of pending) {
    const { error } = await migrator.migrateTo(name);
    if (error !== undefined) throw error;
  }
}

/** The names in the store's history. */
async function appliedMigrations(db: StoreDatabase): Promise<readonly string[]> {
  const tables = (await db.introspection.getTables()).map((table) => table.name);
  if (tables.length === 0) return [];
  if (!tables.includes(HISTORY_TABLE)) {
    throw new StoreError('unrecognised', 'the database has tables that do not belong to this service');
  }
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(HISTORY_TABLE)}`.execute(db);
  const applied = rows.map((row) => row.name);
  refuseUnknown(applied.filter((name) => !Object.hasOwn(MIGRATIONS, name)));
  return applied;
}

function refuseUnknown(unknown: readonly string[]): void {
  const last = unknown.toSorted().at(-1);
  if (last === undefined) return;
  if (last > SCHEMA_NAME)
    throw new StoreError('newer_schema', `the database has schema ${last}, newer than ${SCHEMA_NAME}`);
  throw new StoreError('unrecognised', `the database has the unknown schema ${last}`);
}
