/**
 * The steps of a SQLite store. A schema is numbered after the receipts that it holds: `0001` is that of v0.1, `0003` that of
 * v0.3. A new store takes all of the steps.
 */
import type { HistoryTable } from '../../migrations/history.ts';
import { forgetUnreleased, type Step, type Takeover, UNRELEASED_OF_BOTH } from '../../migrations/steps.ts';
import type { StoreDatabase } from '../../schema.ts';
import { schemaOfV01 } from './0001-jobs.ts';
import { schemaOfV03 } from './0003-receipts.ts';
import { fillV4, schemaOfV4 } from './0004-schema.ts';

export interface SqliteStep extends Step {
  /** Run after the statements, in the same transaction. */
  readonly fill?: (db: StoreDatabase) => Promise<void>;
}

export const STEPS: readonly SqliteStep[] = [
  { name: '0001-jobs', sql: schemaOfV01 },
  { name: '0003-receipts', sql: schemaOfV03 },
  { name: '0004-store', sql: schemaOfV4, fill: fillV4 },
];

export const TAKEOVER: Takeover<SqliteStep> = {
  names: ['0001-jobs', '0003-receipts', ...UNRELEASED_OF_BOTH],
  step: { name: '0004-store', sql: forgetUnreleased },
};

export const HISTORY: HistoryTable = {
  tables: `select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'`,
  // The table as it is in stores of v0.1.
  create: 'create table schema_history (name varchar(255) not null primary key, timestamp varchar(255) not null)',
};
