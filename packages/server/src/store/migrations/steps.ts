/**
 * The steps that bring either kind of store to this program's schema. The store's own `schema_history` names the steps that were
 * taken; the others are then taken in order. A store is never downgraded.
 */
import { StoreError } from '../store-error.ts';

export interface Step {
  /**
   * The step's name in the history, which never changes. `0001` is the store of v0.1, `0003` that of v0.3, `0004` that of 0.1.0.
   * Only the name of the first step of 0.1.0 begins with `0004-`; any other such name comes from a tree that was never released.
   */
  readonly name: string;
  /** Statements, each of which ends with a semicolon and a line feed. */
  readonly sql: string;
}

/**
 * The commit whose stores are taken over: the last commit before the steps of unreleased trees were joined into one step. Its
 * stores have the present tables, and the names of all those steps.
 */
const lastUnreleased = '542037d9';

/** The names of that commit's steps that both kinds of store took. */
export const UNRELEASED_OF_BOTH: readonly string[] = [
  ...['0004-schema', '0004-with-used-outputs', '0004-with-verdicts', '0004-with-whole-outputs'],
  ...['0004-with-whole-programs', '0004-with-whole-statements', '0004-with-written-log', '0004-without-lost-promises'],
  ...['0004-without-silent-tools', '0004-written-beside', '0004-written-sessions', '0004-written-with-labels'],
  ...['0004-written-with-links', '0004-written-with-lists'],
];

/** Removes the names of those steps from the history. */
export const forgetUnreleased = "delete from schema_history where name like '0004-%';\n";

/** How to take over a store from that commit. */
export interface Takeover<Taken extends Step> {
  /** Every name in the history of such a store. */
  readonly names: readonly string[];
  /** The step that is taken in place of the step with the same name. It changes only the history. */
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
  const unreleased = unknown.findLast((name) => name.startsWith('0004-'));
  if (unreleased === undefined) return { left, unknown };
  if (names.every((name) => taken.has(name)) && names.length === history.length)
    return { left: left.map((one) => (one.name === step.name ? step : one)), unknown: [] };
  throw new StoreError(
    'unrecognised',
    `the database has schema ${unreleased}, which was never released: start commit ${lastUnreleased} on it once, and then this version`,
  );
}

export function statementsOf({ sql }: Step): readonly string[] {
  return sql.split(';\n').filter((statement) => statement.trim() !== '');
}
