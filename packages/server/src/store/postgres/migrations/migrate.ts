/**
 * Before this program serves, brings the tables of a PostgreSQL store to the form that the program needs. Each step is one
 * transaction, and nodes of an earlier version go on working meanwhile. A store that this program may no longer use is refused.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { NodeFacts } from '../../fleet.ts';
import { StoreError } from '../../store-error.ts';
import type { Session } from '../connection.ts';
import { storeErrorOf } from '../error.ts';
import { leaseSeconds } from '../lease.ts';
import { type OlderNode, stepsLeft } from './schema-state.ts';
import { type NextStep, type PostgresStep, rangeOf, STEPS } from './steps.ts';
import { oneAtATime, type Try, tryStep } from './take-step.ts';

/** How long a start retries a step that does not get its locks, and how long it pauses between two tries. */
const busyMillisecondsMax = 60_000;
const pauseMilliseconds = 200;

export interface MigrateOptions {
  /** The steps to this program's schema. Tests of upgrades give more steps. */
  readonly steps?: readonly PostgresStep[];
  /** The name of the service's data directory; null for an operator's command that runs beside the service. */
  readonly instance?: string | null;
}

/**
 * @throws StoreError `newer_schema`, `unrecognised` or `unopenable`, having changed nothing; `locked`, with the node's
 * name, if a node of an earlier version needs what a step removes; `busy` if the tables were in use for a minute; or
 * the error of a step that failed
 */
export async function migrate(
  session: Session,
  { steps = STEPS, instance = null }: MigrateOptions = {},
): Promise<void> {
  await oneAtATime(session, { waits: true }, async () => {
    const { needs } = rangeOf(steps);
    const left = await stepsLeft(session, steps);
    for (const step of left.filter(({ version }) => version <= needs)) await take(session, step, instance);
  });
}

/** Tries a step until it is taken, but gives up if it is still busy after `busyMillisecondsMax`. */
async function take(session: Session, step: NextStep, instance: string | null): Promise<void> {
  const begunAt = performance.now();
  for (;;) {
    // As with beats, dead nodes go only after a lease's time: a node that was cut off from the database may come back.
    const removesDead = performance.now() - begunAt > leaseSeconds * 1000;
    const tried = await tryStep(session, step, { instance, removesDead }).catch((thrown: unknown) => busyOf(thrown));
    if (!(tried instanceof StoreError)) {
      if (tried.kind === 'taken') return;
      refuseBesideLiving(tried, step);
      if (tried.kind === 'further') continue;
    } else if (performance.now() - begunAt > busyMillisecondsMax) {
      throw new StoreError(
        'busy',
        `step ${step.name} got no lock of the tables for a minute: start again when the database is less busy`,
      );
    }
    await pause(pauseMilliseconds);
  }
}

/** Returns the error if the step may be tried again, and throws any other. */
function busyOf(thrown: unknown): StoreError {
  const error = storeErrorOf(thrown);
  if (error.code !== 'busy') throw error;
  return error;
}

function refuseBesideLiving(tried: Try, { name }: NextStep): void {
  const living = tried.kind === 'prevented' ? tried.by.find(({ is_alive }) => is_alive) : undefined;
  if (living === undefined) return;
  throw new StoreError(
    'locked',
    `${nameOf(living)} is of an earlier version and would not survive step ${name} of the schema: stop that node, then start this one again`,
  );
}

function nameOf({ node, facts }: OlderNode): string {
  const { version = null } = (JSON.parse(facts ?? 'null') as NodeFacts | null) ?? {};
  return version === null ? `node ${node}` : `node ${node} (${version})`;
}
