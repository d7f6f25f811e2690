/**
 * The version of a store's schema, the code that may use the store, and the nodes that use it.
 *
 * Code that is too old is shut out first. The rows that such code could write are read for the last time only after that. Every
 * node registers under a shared lock. The version of the oldest code is raised under the same lock, held exclusively. So no older
 * node can register between the look at the nodes and the change of that version.
 */
import { historyOf } from '../../migrations/history.ts';
import { remainingOf } from '../../migrations/steps.ts';
import { StoreError } from '../../store-error.ts';
import type { Session } from '../connection.ts';
import { HISTORY, type NextStep, numbered, type PostgresStep, rangeOf, type SchemaRange, TAKEOVER } from './steps.ts';

/** How long a step may wait for a lock while others wait behind it. PostgreSQL looks for deadlocks only after a longer wait. */
export const lockTimeout = `set local lock_timeout = '100ms'`;

const DOOR = `hashtextextended('vouchbox nodes in ' || current_schema(), 0)`;
/** Takes the shared lock, which is held until the end of the transaction in which a node registers. */
export const enterAsNode = `select pg_advisory_xact_lock_shared(${DOOR})`;
const enterAlone = `select pg_advisory_xact_lock(${DOOR})`;

const selectState = 'select version, oldest_code from schema_state';
const selectOlder = `select node, facts, lease_until >= now() as is_alive from nodes
  where schema_knows < $1 and ($2::text is null or instance <> $2) order by node`;
/** Removes nodes of older code whose leases are over. Waits for a node that is just renewing its lease; that node stays. */
const removeOlderDead = `delete from nodes
  where schema_knows < $1 and ($2::text is null or instance <> $2) and lease_until < now()`;
const raiseOldest = 'update schema_state set oldest_code = greatest(oldest_code, $1)';

/**
 * The steps still to be taken. Later code may have taken other steps.
 *
 * @throws StoreError `unrecognised` or `unopenable` if the database is no store, `newer_schema` if this code may not use it
 */
export async function stepsLeft(session: Session, steps: readonly PostgresStep[]): Promise<readonly NextStep[]> {
  await requireSchema(session);
  const history = await historyOf(session.db, HISTORY);
  const { left, unknown } = remainingOf(history, steps, TAKEOVER);
  const { knows } = rangeOf(steps);
  // A store that has taken none of these steps does not say its version yet.
  const state = left.length < steps.length ? await stateOf(session) : null;
  if (state !== null) refuseOlderCode(state.oldest_code, knows);
  if (unknown.length > 0 && (state === null || state.version <= knows))
    throw new StoreError('unrecognised', `the database has the unknown schema ${unknown.at(-1)}`);
  return left.map((step) => numbered(steps, step));
}

async function requireSchema(session: Session): Promise<void> {
  const sql = 'select current_schema()::text as name';
  const { rows } = await session.execute<{ name: string | null }>({ sql, parameters: [] });
  if (rows[0]?.name == null) throw new StoreError('unopenable', 'the search path of the database has no schema');
}

interface SchemaState {
  readonly version: number;
  readonly oldest_code: number;
}

async function stateOf(session: Session): Promise<SchemaState> {
  const { rows } = await session.execute<SchemaState>({ sql: selectState, parameters: [] });
  if (rows[0] === undefined) throw new StoreError('corrupt', 'the database does not say which schema it has');
  return rows[0];
}

function refuseOlderCode(oldest: number, knows: number): void {
  if (oldest <= knows) return;
  throw new StoreError(
    'newer_schema',
    `the database needs a version of the service that knows schema ${oldest}, and this one knows ${knows}: start the newer version`,
  );
}

/** Begins the transaction in which a node registers. @throws StoreError `newer_schema` if the node's code was shut out */
export async function beginRegistration(session: Session, { knows }: SchemaRange): Promise<void> {
  session.begin();
  session.send({ sql: enterAsNode, parameters: [] });
  try {
    refuseOlderCode((await stateOf(session)).oldest_code, knows);
  } catch (thrown) {
    await session.rollback();
    throw thrown;
  }
}

/** A node whose code knows less than a step needs. */
export interface OlderNode {
  readonly node: number;
  /** The node's facts; null if it does not serve yet. */
  readonly facts: string | null;
  /** Whether the node's lease still runs. A node whose lease is over may come back until its row is removed. */
  readonly is_alive: boolean;
}

export interface ShutOutOptions {
  /** The service that asks; its earlier process has ended. Null for an operator's command. */
  readonly instance: string | null;
  /** Whether nodes whose leases are over are removed, as beats do. */
  readonly removesDead: boolean;
}

/**
 * Shuts out code that knows less than `version`. Returns the nodes that prevent this. If there are any, no code is shut out.
 *
 * @throws StoreError `busy` if nodes register all the time
 */
export async function shutOutBelow(
  session: Session,
  version: number,
  { instance, removesDead }: ShutOutOptions,
): Promise<readonly OlderNode[]> {
  session.begin();
  session.send({ sql: lockTimeout, parameters: [] });
  session.send({ sql: enterAlone, parameters: [] });
  try {
    if (removesDead) session.send({ sql: removeOlderDead, parameters: [version, instance] });
    const { rows: staying } = await session.execute<OlderNode>({ sql: selectOlder, parameters: [version, instance] });
    if (staying.length === 0) session.send({ sql: raiseOldest, parameters: [version] });
    await session.commit();
    return staying;
  } catch (thrown) {
    if (!session.isLost) await session.rollback();
    throw thrown;
  }
}
