/**
 * Takes one step of a schema while nodes work. A step never keeps nodes waiting for long: if it does not soon get a lock, it
 * gives up, and its caller tries again. Call these functions inside `oneAtATime`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { statementsOf } from '../../migrations/steps.ts';
import type { Session } from '../connection.ts';
import { lockTimeout, type OlderNode, type ShutOutOptions, shutOutBelow } from './schema-state.ts';
import type { NextStep } from './steps.ts';

/** The lock that a node holds while it takes a step. */
const MIGRATING = `hashtextextended('vouchbox migration in ' || current_schema(), 0)`;

/** How many rows a backfill looks at in one transaction. */
export const backfillRowsMax = 500;

const noteStep = 'insert into schema_history (name, timestamp) values ($1, $2)';
const noteVersion = 'update schema_state set version = $1';
const beginBackfill = `insert into backfills (name, rows_done, is_last_pass) values ($1, 0, 0) on conflict do nothing`;
const selectProgress = 'select position, is_last_pass from backfills where name = $1';
const noteProgress = 'update backfills set position = $2, rows_done = rows_done + $3 where name = $1';
const beginLastPass = 'update backfills set position = null, is_last_pass = 1 where name = $1';
const endBackfill = 'delete from backfills where name = $1';

/** The outcome of a try: the step was taken, a backfill advanced, or nodes of earlier code prevent the step. */
export type Try =
  | { readonly kind: 'taken' }
  | { readonly kind: 'further' }
  | { readonly kind: 'prevented'; readonly by: readonly OlderNode[] };

/** Runs `work` while no other node takes a step. If another node is taking one and `waits` is false, returns null. */
export async function oneAtATime<Result>(
  session: Session,
  { waits }: { readonly waits: boolean },
  work: () => Promise<Result>,
): Promise<Result | null> {
  // The lock is requested again and again, because a session that waits inside the server could not be ended meanwhile.
  while (!(await isTaken(session))) {
    if (!waits) return null;
    await pause(20);
  }
  try {
    return await work();
  } finally {
    if (!session.isLost) session.send({ sql: `select pg_advisory_unlock(${MIGRATING})`, parameters: [] });
  }
}

async function isTaken(session: Session): Promise<boolean> {
  const sql = `select pg_try_advisory_lock(${MIGRATING}) as taken`;
  return (await session.execute<{ taken: boolean }>({ sql, parameters: [] })).rows[0]?.taken === true;
}

/** @throws StoreError `busy`, having changed nothing, if a lock was not free */
export async function tryStep(session: Session, step: NextStep, options: ShutOutOptions): Promise<Try> {
  if (step.kind === 'backfill') return await moveRows(session, step, options);
  if (step.kind === 'contract') {
    const by = await shutOutBelow(session, step.version, options);
    if (by.length > 0) return { kind: 'prevented', by };
  }
  await inTransaction(session, async () => {
    for (const sql of statementsOf(step)) session.send({ sql, parameters: [] });
    note(session, step);
  });
  return { kind: 'taken' };
}

/**
 * Moves the next rows. Reaching the end is not final while older nodes run: they may still write rows in the old form among rows
 * that were already read. So once no older code can use the store, the rows are read one last time from the beginning.
 */
async function moveRows(session: Session, step: NextStep, options: ShutOutOptions): Promise<Try> {
  const moved = await inTransaction(session, async () => {
    session.send({ sql: beginBackfill, parameters: [step.name] });
    const progress = await session.execute<Progress>({ sql: selectProgress, parameters: [step.name] });
    const { position = null, is_last_pass = 0 } = progress.rows[0] ?? {};
    const { rows } = await session.execute<Moved>({ sql: step.sql, parameters: [position, backfillRowsMax] });
    const { position: last = null, rows: count = 0 } = rows[0] ?? {};
    if (last !== null) session.send({ sql: noteProgress, parameters: [step.name, last, count] });
    const isTaken = last === null && is_last_pass === 1;
    if (isTaken) session.send({ sql: endBackfill, parameters: [step.name] });
    if (isTaken) note(session, step);
    return { isAtEnd: last === null, isTaken };
  });
  if (moved.isTaken) return { kind: 'taken' };
  if (!moved.isAtEnd) return { kind: 'further' };
  const by = await shutOutBelow(session, step.version, options);
  if (by.length > 0) return { kind: 'prevented', by };
  await session.execute({ sql: beginLastPass, parameters: [step.name] });
  return { kind: 'further' };
}

interface Progress {
  readonly position: string | null;
  readonly is_last_pass: number;
}

interface Moved {
  readonly position: string | null;
  readonly rows: number;
}

function note(session: Session, { name, version }: NextStep): void {
  session.send({ sql: noteStep, parameters: [name, new Date().toISOString()] });
  session.send({ sql: noteVersion, parameters: [version] });
}

async function inTransaction<Result>(session: Session, work: () => Promise<Result>): Promise<Result> {
  session.begin();
  session.send({ sql: lockTimeout, parameters: [] });
  try {
    const result = await work();
    await session.commit();
    return result;
  } catch (thrown) {
    if (!session.isLost) await session.rollback();
    throw thrown;
  }
}
