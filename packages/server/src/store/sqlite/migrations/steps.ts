/**
 * The steps of a SQLite store. Schemas are numbered by the receipts that they hold: `0001` is that of v0.1, `0003` that of
 * v0.3. A new store passes through all of them.
 */

import { findOutputs } from '../../migrations/0004-with-used-outputs.ts';
import { gradingTablesIn } from '../../migrations/0004-with-verdicts.ts';
import { largeOutputsIn } from '../../migrations/0004-with-whole-outputs.ts';
import { buildsIn } from '../../migrations/0004-with-whole-programs.ts';
import { statementsIn } from '../../migrations/0004-with-whole-statements.ts';
import { logTablesIn } from '../../migrations/0004-with-written-log.ts';
import { promiseTablesIn } from '../../migrations/0004-without-lost-promises.ts';
import { toolTablesIn } from '../../migrations/0004-without-silent-tools.ts';
import { writtenBesideIn } from '../../migrations/0004-written-beside.ts';
import { sessionsIn } from '../../migrations/0004-written-sessions.ts';
import { labelsIn } from '../../migrations/0004-written-with-labels.ts';
import { linksIn } from '../../migrations/0004-written-with-links.ts';
import { listsIn } from '../../migrations/0004-written-with-lists.ts';
import type { HistoryTable } from '../../migrations/history.ts';
import { forgetting, type Step, type Takeover } from '../../migrations/steps.ts';
import type { StoreDatabase } from '../../schema.ts';
import { schemaOfV01 } from './0001-jobs.ts';
import { schemaOfV03 } from './0003-receipts.ts';
import { dropLock, fillV4, schemaOfV4, spelling } from './0004-schema.ts';

export interface SqliteStep extends Step {
  /** Done after the statements, in the same transaction. */
  readonly fill?: (db: StoreDatabase) => Promise<void>;
}

export const STEPS: readonly SqliteStep[] = [
  { name: '0001-jobs', sql: schemaOfV01 },
  { name: '0003-receipts', sql: schemaOfV03 },
  { name: '0004-schema', sql: schemaOfV4, fill: fillV4 },
  { name: '0004-with-used-outputs', sql: findOutputs },
  { name: '0004-with-verdicts', sql: gradingTablesIn(spelling) },
  { name: '0004-with-whole-outputs', sql: largeOutputsIn(spelling) },
  { name: '0004-with-whole-programs', sql: buildsIn(spelling) },
  { name: '0004-with-whole-statements', sql: statementsIn(spelling) },
  { name: '0004-with-written-log', sql: logTablesIn(spelling) },
  { name: '0004-without-lost-promises', sql: promiseTablesIn(spelling) },
  { name: '0004-without-silent-tools', sql: toolTablesIn(spelling) },
  { name: '0004-written-beside', sql: writtenBesideIn(spelling) },
  { name: '0004-written-sessions', sql: sessionsIn(spelling) },
  { name: '0004-written-with-labels', sql: labelsIn(spelling) },
  { name: '0004-written-with-links', sql: linksIn(spelling) },
  { name: '0004-written-with-lists', sql: listsIn(spelling) },
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
