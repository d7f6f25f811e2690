/**
 * The steps that lead a store to the schema of this program, in either kind of store. The names of the steps that were taken are
 * in the store's own `schema_history`; the other steps are taken in their order. A store is never downgraded.
 */
import { StoreError } from '../store-error.ts';

export interface Step {
  /** The step's name in the history, which never changes. It begins with the version of receipts that the store then holds. */
  readonly name: string;
  /** Statements, each of which ends with a semicolon and a line feed. */
  readonly sql: string;
}

/**
 * The commit whose stores are taken over: the last one before the steps of unreleased trees were joined into one step. Stores of
 * this commit have the present tables, under the names of all those steps.
 */
const lastUnreleased = '6f6623a';

/** How to take over a store of that commit. */
export interface Takeover<Taken extends Step> {
  /** Every name in the history of such a store. */
  readonly names: readonly string[];
  /** The step that is taken instead of the step of the same name. It changes only the history. */
  readonly step: Taken;
}

export interface Remaining<Taken extends Step> {
  readonly left: readonly Taken[];
  /** Names in the history that this program does not know, in their order. */
  readonly unknown: readonly string[];
}

/** @throws StoreError `unrecognised` if the history names a step that was never released */
export function remainingOf<Taken extends Step>(
  history: readonly string[],
  steps: readonly Taken[],
  { names, step }: Takeover<Taken>,
): Remaining<Taken> {
  const taken = new Set(history);
  const left = steps.filter(({ name }) => !taken.has(name));
  const unknown = history.filter((name) => steps.every((known) => known.name !== name)).sort();
  const unreleased = unknown.findLast((name) => names.includes(name));
  if (unreleased === undefined) return { left, unknown };
  if (names.every((name) => taken.has(name)) && names.length === history.length)
    return { left: left.map((one) => (one.name === step.name ? step : one)), unknown: [] };
  throw new StoreError(
    'unrecognised',
    `the database has schema ${unreleased}, which was never released: start commit ${lastUnreleased} on it once, and then this version`,
  );
}

/** Forgets the names in the history that no step of this program has. */
export function forgetting({ names, steps }: { names: readonly string[]; steps: readonly Step[] }): string {
  const gone = names.filter((name) => steps.every((step) => step.name !== name));
  return `delete from schema_history where name in (${gone.map((name) => `'${name}'`).join(', ')});\n`;
}

export function statementsOf({ sql }: Step): readonly string[] {
  return sql.split(';\n').filter((statement) => statement.trim() !== '');
}
