/**
 * The steps that lead to the schema of this program. The version of a schema is the number of its steps, which are taken
 * in their order. Only their kinds say what may happen while nodes of an earlier version live: see `take-step.ts`.
 */
import { createTables } from './0004-tables.ts';
import { moveExecutions } from './0004-with-execution.ts';
import { addNodeChanges } from './0004-with-node-changes.ts';
import { createNodes } from './0004-with-nodes.ts';
import { addUploads } from './0004-with-uploads.ts';
import { addUsedObjects } from './0004-with-used-objects.ts';
import { addVersions } from './0004-with-versions.ts';

/**
 * - `expand` adds what earlier code does not notice: tables, columns that may be null or have a constant default. A
 *   start takes it beside older nodes.
 * - `backfill` moves rows into the new form, some at a time, while the service works. Afterwards no older code may start.
 * - `contract` removes what only older code used. It is taken when no node needs that any more.
 */
export type StepKind = 'expand' | 'backfill' | 'contract';

export interface Step {
  /** Begins with the number of the receipts that the store holds. It is in the store's history, and never changes. */
  readonly name: string;
  readonly kind: StepKind;
  /**
   * Statements, each of which ends with a semicolon and a line feed. That of a `backfill` is one statement without a
   * semicolon. Its parameters are the position after which it begins (text; null for the beginning) and how many rows it
   * may look at. It returns one row: `position`, that of the last row that it looked at, null if there was none, and
   * `rows`, how many it changed.
   */
  readonly sql: string;
}

/** A version is never taken from this list or moved in it: its place is its number. */
export const STEPS: readonly Step[] = [
  { name: '0004-tables', kind: 'expand', sql: createTables },
  { name: '0004-with-execution', kind: 'contract', sql: moveExecutions },
  { name: '0004-with-nodes', kind: 'expand', sql: createNodes },
  { name: '0004-with-uploads', kind: 'expand', sql: addUploads },
  { name: '0004-with-versions', kind: 'expand', sql: addVersions },
  { name: '0004-with-used-objects', kind: 'expand', sql: addUsedObjects },
  { name: '0004-with-node-changes', kind: 'expand', sql: addNodeChanges },
];

/** The step with which a store begins to say its version. Before it, nodes of two versions could not share a store. */
export const firstVersioned = 5;

/** The step that adds objects. Earlier code takes a content that was moved for an empty one. */
export const firstWithObjects = 6;

/** The schemas that code can use, both ends included. */
export interface SchemaRange {
  /** The last step that adds something: the code needs it before it serves. */
  readonly needs: number;
  /** The last step that it knows. */
  readonly knows: number;
}

export function rangeOf(steps: readonly Step[]): SchemaRange {
  return { needs: steps.findLastIndex(({ kind }) => kind === 'expand') + 1, knows: steps.length };
}
