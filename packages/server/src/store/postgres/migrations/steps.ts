/**
 * The steps of a store on PostgreSQL. Each leads to the next version of the schema. The kind of a step alone decides what may
 * happen while nodes of an earlier version live: see `take-step.ts`.
 */
import type { HistoryTable } from '../../migrations/history.ts';
import { forgetUnreleased, type Step, type Takeover, UNRELEASED_OF_BOTH } from '../../migrations/steps.ts';
import { createTables, firstVersion, messageKey } from './0004-schema.ts';

/**
 * - `expand` adds what earlier code does not notice: tables, and columns that may be null or have a constant default. A
 *   start takes it beside older nodes.
 * - `backfill` moves rows into the new form, some at a time, while the service works. Afterwards, older code can no longer start.
 * - `contract` removes what only older code used. It is taken when no node needs the removed parts any more.
 */
export type StepKind = 'expand' | 'backfill' | 'contract';

export interface PostgresStep extends Step {
  readonly kind: StepKind;
  /**
   * The statement of the step. A `backfill` has one statement without a semicolon. Its parameters are the position after which it
   * begins (text; null for the beginning) and how many rows it may look at. It returns one row: `position` is that of the last
   * row that it looked at, or null if there was none; `rows` is how many rows it changed.
   */
  readonly sql: string;
}

/** The steps in the order of their names. No step is ever removed, or added before another: a step's place gives its number. */
export const STEPS: readonly PostgresStep[] = [{ name: '0004-store', kind: 'expand', sql: createTables }];

/** Raises the version of the oldest code, so that code of the commit taken over cannot start: this code would miss its steps. */
const raiseOldest = `update schema_state set oldest_code = ${firstVersion};\n`;
const addKey = `alter table schema_state add column ${messageKey};\n`;

export const TAKEOVER: Takeover<PostgresStep> = {
  names: [...UNRELEASED_OF_BOTH, '0004-with-wide-fleets'],
  step: { name: '0004-store', kind: 'expand', sql: forgetUnreleased + raiseOldest + addKey },
};

/** How to find the history on PostgreSQL: in the schema where the session makes its tables. Extensions' tables do not count. */
export const HISTORY: HistoryTable = {
  tables: `select relname::text as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
      and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')`,
  create: 'create table schema_history (name text collate "C" primary key, timestamp text collate "C" not null)',
};

/** The range of schemas that code can use, both ends included. */
export interface SchemaRange {
  /** The last step that adds something: the code serves only after this step was taken. */
  readonly needs: number;
  /** The last step that the code knows. */
  readonly knows: number;
}

export function rangeOf(steps: readonly PostgresStep[]): SchemaRange {
  const needs = steps.findLastIndex(({ kind }) => kind === 'expand') + firstVersion;
  return { needs, knows: steps.length - 1 + firstVersion };
}

/** A step, and the version of the schema to which it leads. */
export interface NextStep extends PostgresStep {
  readonly version: number;
}

export function numbered(steps: readonly PostgresStep[], step: PostgresStep): NextStep {
  return { ...step, version: steps.findIndex(({ name }) => name === step.name) + firstVersion };
}
