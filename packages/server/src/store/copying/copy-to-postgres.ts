/**
 * Copies a whole store from its SQLite file to PostgreSQL, while the service does not run. Afterwards PostgreSQL has either
 * everything, as compared by digests, or nothing. The names of the tables are read from the databases, so any table that the
 * schema gains is copied, too.
 */
import { existsSync } from 'node:fs';
import { databasePath, type OpenStoreOptions, openStore } from '../open-store.ts';
import { storeErrorOf } from '../postgres/error.ts';
import { StoreError } from '../store-error.ts';
import { type CopiedRow, type CopiedTable, sizeOf, type TableSum } from './copied-rows.ts';
import { PostgresTarget } from './postgres-target.ts';
import { SqliteSource } from './sqlite-source.ts';

/** How far a copy has come, in rows of one table. */
export interface CopyProgress {
  readonly table: string;
  readonly copied: number;
  readonly rows: number;
}

export interface CopyOptions extends Pick<OpenStoreOptions, 'dataDir' | 'databaseUrl'> {
  /** The target, `postgres://…`. Its schema has no store, or an empty one. */
  readonly target: string;
  readonly onProgress?: (progress: CopyProgress) => void;
}

/** How many rows of a table were copied, and their digest, which is the same on both sides. */
export interface CopiedSum extends TableSum {
  readonly table: string;
}

/**
 * Copies the store. The source is first brought to this program's schema, as at a service's start, and stays locked to the end.
 *
 * @throws StoreError with a one-line message that quotes no URL; nothing has been copied then
 */
export async function copyToPostgres({ target, onProgress = () => {}, ...where }: CopyOptions): Promise<CopiedSum[]> {
  const path = sourcePath(where);
  requirePostgres(target);
  await using _held = await openStore({ ...where, check: 'quick' });
  using source = new SqliteSource(path);
  await using opened = await PostgresTarget.open(target);
  try {
    return await copyTables({ source, target: opened, onProgress });
  } catch (thrown) {
    throw storeErrorOf(thrown);
  }
}

async function copyTables(sides: Sides): Promise<CopiedSum[]> {
  const { source, target } = sides;
  const tables = await target.tables(source.columns());
  await target.requireEmpty(tables);
  target.begin();
  const sums: CopiedSum[] = [];
  for (const table of tables) sums.push(await copyTable(table, sides));
  await target.closeLog();
  await target.commit();
  return sums;
}

interface Sides {
  readonly source: SqliteSource;
  readonly target: PostgresTarget;
  readonly onProgress: (progress: CopyProgress) => void;
}

async function copyTable(table: CopiedTable, { source, target, onProgress }: Sides): Promise<CopiedSum> {
  const rows = source.count(table.name);
  let copied = 0;
  let rowBytes = 0;
  const measured = function* (): Generator<CopiedRow> {
    for (const row of source.rows(table)) {
      rowBytes = Math.max(rowBytes, sizeOf(row));
      yield row;
    }
  };
  const written = await target.write(table, measured(), (count) => {
    copied += count;
    onProgress({ table: table.name, copied, rows });
  });
  const read = await target.sum(table, rowBytes);
  if (written.rows !== rows || read.rows !== rows || read.sha256 !== written.sha256)
    throw new StoreError('internal', `the copy of the table ${table.name} differs; nothing was kept`);
  return { table: table.name, ...read };
}

function sourcePath(where: Pick<OpenStoreOptions, 'dataDir' | 'databaseUrl'>): string {
  const path = databasePath(where);
  if (path === null) throw new StoreError('unopenable', 'the source must be a SQLite store');
  if (!existsSync(path)) throw new StoreError('unopenable', `${path}: there is no store`);
  return path;
}

function requirePostgres(target: string): void {
  if (!/^postgres(ql)?:/.test(target)) throw new StoreError('unopenable', 'the target must be postgres://…');
}
