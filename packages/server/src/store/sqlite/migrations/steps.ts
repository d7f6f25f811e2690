/**
 * The steps of a SQLite store. Schemas are numbered by the receipts that they hold: `0001` is that of v0.1, `0003` that of v0.3.
 * A new store takes all of the steps.
 */
import type { HistoryTable } from '../../migrations/history.ts';
import { forgetting, type Step, type Takeover } from '../../migrations/steps.ts';
import { stepsOfBoth } from '../../migrations/steps-of-both.ts';
import type { StoreDatabase } from '../../schema.ts';
import { schemaOfV01 } from './0001-jobs.ts';
import { schemaOfV03 } from './0003-receipts.ts';
import { dropLock, fillV4, schemaOfV4, spelling } from './0004-schema.ts';

export interface SqliteStep extends Step {
  /** Run after the statements, in the same transaction. */
  readonly fill?: (db: StoreDatabase) => Promise<void>;
}

export const STEPS: readonly SqliteStep[] = [
  { name: '0001-jobs', sql: schemaOfV01 },
  { name: '0003-receipts', sql: schemaOfV03 },
  { name: '0004-schema', sql: schemaOfV4, fill: fillV4 },
  ...stepsOfBoth(spelling),
];

const UNRELEASED = [
  ...['0001-jobs', '0003-receipts', '0004-ledger', '0004-ledger-rows', '0004-output-runs'],
  ...['0004-with-execution', '0004-with-uploads', '0004-with-used-objects'],
];

export const TAKEOVER: Takeover<SqliteStep> = {
  names: UNRELEASED,
  step: { name: '0004-schema', sql: forgetting({ names: UNRELEASED, steps: STEPS }) + dropLock },
};

export const HISTORY: HistoryTable = {
  tables: `select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'`,
  // The table as stores of v0.1 have it.
  create: 'create table schema_history (name varchar(255) not null primary key, timestamp varchar(255) not null)',
};
