/**
 * The steps of a store on PostgreSQL. Each leads to a schema with the next version. Only their kinds say what may happen
 * while nodes of an earlier version live: see `take-step.ts`.
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
import { createTables, firstVersion, spelling } from './0004-schema.ts';
import { wideFleets } from './0004-with-wide-fleets.ts';

/**
 * - `expand` adds what earlier code does not notice: tables, columns that may be null or have a constant default. A
 *   start takes it beside older nodes.
 * - `backfill` moves rows into the new form, some at a time, while the service works. Afterwards no older code may start.
 * - `contract` removes what only older code used. It is taken when no node needs that any more.
 */
export type StepKind = 'expand' | 'backfill' | 'contract';

export interface PostgresStep extends Step {
  readonly kind: StepKind;
  /**
   * The statement of the step. A `backfill` has one statement without a semicolon. Its parameters are the position
   * after which it begins (text; null for the beginning) and how many rows it may look at. It returns one row:
   * `position`, that of the last row that it looked at, null if there was none, and `rows`, how many it changed.
   */
  readonly sql: string;
}

/** A step is never taken from this list or moved in it: its place gives its number. */
export const STEPS: readonly PostgresStep[] = [
  { name: '0004-schema', kind: 'expand', sql: createTables },
  { name: '0004-with-used-outputs', kind: 'expand', sql: findOutputs },
  { name: '0004-with-verdicts', kind: 'expand', sql: gradingTablesIn(spelling) },
  { name: '0004-with-whole-outputs', kind: 'expand', sql: largeOutputsIn(spelling) },
  { name: '0004-with-whole-programs', kind: 'expand', sql: buildsIn(spelling) },
  { name: '0004-with-whole-statements', kind: 'expand', sql: statementsIn(spelling) },
  { name: '0004-with-wide-fleets', kind: 'expand', sql: wideFleets },
  { name: '0004-with-written-log', kind: 'expand', sql: logTablesIn(spelling) },
  { name: '0004-without-lost-promises', kind: 'expand', sql: promiseTablesIn(spelling) },
  { name: '0004-without-silent-tools', kind: 'expand', sql: toolTablesIn(spelling) },
  { name: '0004-written-beside', kind: 'expand', sql: writtenBesideIn(spelling) },
  { name: '0004-written-sessions', kind: 'expand', sql: sessionsIn(spelling) },
  { name: '0004-written-with-labels', kind: 'expand', sql: labelsIn(spelling) },
  { name: '0004-written-with-links', kind: 'expand', sql: linksIn(spelling) },
  { name: '0004-written-with-lists', kind: 'expand', sql: listsIn(spelling) },
];

const UNRELEASED = [
  ...['0004-tables', '0004-with-execution', '0004-with-nodes', '0004-with-uploads', '0004-with-versions'],
  ...['0004-with-used-objects', '0004-with-node-changes'],
];

/** Code of that commit would not find its steps any more, so it is told to stay away at its next start. */
const raiseOldest = `update schema_state set oldest_code = ${firstVersion};\n`;

export const TAKEOVER: Takeover<PostgresStep> = {
  names: UNRELEASED,
  step: { name: '0004-schema', kind: 'expand', sql: forgetting({ names: UNRELEASED, steps: STEPS }) + raiseOldest },
};

/** Tables of the schema in which the session makes its tables, without those of extensions. */
export const HISTORY: HistoryTable = {
  tables: `select relname::text as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
      and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')`,
  create: 'create table schema_history (name text collate "C" primary key, timestamp text collate "C" not null)',
};

/** The schemas that code can use, both ends included. */
export interface SchemaRange {
  /** The last step that adds something: the code needs it before it serves. */
  readonly needs: number;
  /** The last step that it knows. */
  readonly knows: number;
}

export function rangeOf(steps: readonly PostgresStep[]): SchemaRange {
  const needs = steps.findLastIndex(({ kind }) => kind === 'expand') + firstVersion;
  return { needs, knows: steps.length - 1 + firstVersion };
}

/** A step, and the version of the schema that it leads to. */
export interface NextStep extends PostgresStep {
  readonly version: number;
}

export function numbered(steps: readonly PostgresStep[], step: PostgresStep): NextStep {
  return { ...step, version: steps.findIndex(({ name }) => name === step.name) + firstVersion };
}
