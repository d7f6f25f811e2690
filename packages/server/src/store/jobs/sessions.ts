/**
 * Sessions. A row is written when a step is accepted, never when a job ends: the job's outputs show whether the step moved its
 * session. So the session moves with the end of a step, whichever call stores this end, and a crash leaves nothing to repair.
 */
import type { Session } from '@vouchbox/protocol';
import { isTerminal, type JobStatus, SESSION_FILES, sessionsMax } from '@vouchbox/protocol/vocabulary';
import { sql } from 'kysely';
import { countBy, deleteBy, JOB, same } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { AdmitResult } from '../records/answers.ts';
import type { AdmitInput } from '../records/inputs.ts';
import type { StoreDatabase } from '../schema.ts';
import type { SessionTable } from '../schema-of-tools.ts';

export type SessionKey = Readonly<Pick<SessionTable, 'tenant' | 'principal' | 'name'>>;

/** Each session with its last step (null if retention removed it), and with the status and new state of its next step. */
function standings(db: StoreDatabase, { tenant, principal }: Omit<SessionKey, 'name'>) {
  return db
    .selectFrom('sessions')
    .innerJoin('jobs', (join) =>
      join.onRef('jobs.tenant', '=', 'sessions.tenant').onRef('jobs.job_id', '=', 'sessions.next_job'),
    )
    .leftJoin('large_outputs', (join) =>
      join.on(same(JOB, 'large_outputs', 'jobs')).on('large_outputs.path', '=', sql.lit(SESSION_FILES.newState)),
    )
    .leftJoin('jobs as last', (join) =>
      join.onRef('last.tenant', '=', 'sessions.tenant').onRef('last.job_id', '=', 'sessions.last_job'),
    )
    .select(['sessions.name', 'sessions.language', 'last.job_id as last_job', 'sessions.next_job'])
    .select(['sessions.created_at', 'sessions.changed_at', 'jobs.status', 'large_outputs.path'])
    .where('sessions.tenant', '=', tenant)
    .where('sessions.principal', '=', principal);
}

const selectSession = prepared((db, key: SessionKey) => standings(db, key).where('name', '=', key.name));

const selectSessions = prepared((db, owner: Omit<SessionKey, 'name'>) => standings(db, owner).orderBy('name'));

const countSessions = countBy('sessions', ['tenant', 'principal']);

function inserted(db: StoreDatabase, row: SessionTable) {
  return db.insertInto('sessions').values({
    tenant: row.tenant,
    principal: row.principal,
    name: row.name,
    language: row.language,
    last_job: row.last_job,
    next_job: row.next_job,
    created_at: row.created_at,
    changed_at: row.changed_at,
  });
}

/** Begins a session. Fails if another node has begun it, since a tenant has no row to lock before the tenant's first job. */
const beginSession = prepared(inserted);

/** Moves a session. If retention has removed the session's row, it is made again. */
const moveSession = prepared((db, row: SessionTable) =>
  inserted(db, row).onConflict((conflict) =>
    conflict
      .columns(['tenant', 'principal', 'name'])
      .doUpdateSet({ last_job: row.last_job, next_job: row.next_job, changed_at: row.changed_at }),
  ),
);

const deleteSession = deleteBy('sessions', ['tenant', 'principal', 'name']);

interface Row extends Omit<SessionTable, 'tenant' | 'principal'> {
  readonly status: JobStatus;
  /** The path of the state that the step left; null if it left none. */
  readonly path: string | null;
}

function standingOf({ last_job, next_job, status, path, name, language, created_at, changed_at }: Row): Session {
  const hasMoved = status === 'succeeded' && path !== null;
  return {
    name,
    language,
    last_job_id: hasMoved ? next_job : last_job,
    running_job_id: isTerminal(status) ? null : next_job,
    created_at,
    changed_at,
  };
}

/** A session with its current step; null if the principal has no session with this name. */
export async function session(db: StoreDatabase, key: SessionKey): Promise<Session | null> {
  const found = await selectSession.first(db, key);
  return found === null ? null : standingOf(found);
}

/** All sessions of a principal, by name. */
export async function sessions(db: StoreDatabase, owner: Omit<SessionKey, 'name'>): Promise<readonly Session[]> {
  return (await selectSessions.all(db, owner)).map(standingOf);
}

/** Removes a session, but none of its jobs. False if there was no such session. */
export async function removeSession(db: StoreDatabase, key: SessionKey): Promise<boolean> {
  return (await deleteSession.run(db, key)) > 0;
}

/**
 * Whether the job begins a session, or why it is refused as a step; null if it belongs to no session. After each step, only one
 * next step is accepted.
 */
export async function stepOf(
  db: StoreDatabase,
  input: AdmitInput,
): Promise<{ readonly beginsSession: boolean } | { readonly refused: AdmitResult } | null> {
  const { tenant, principal, requested_spec } = input;
  const { session: step, language } = requested_spec;
  if (step === undefined || principal === undefined) return null;
  const found = await session(db, { tenant, principal, name: step.name });
  if (found === null) {
    if (step.after !== null) return { refused: { kind: 'session_conflict', found } };
    const count = await countSessions(db, { tenant, principal });
    return count < sessionsMax ? { beginsSession: true } : { refused: { kind: 'full', of: 'sessions' } };
  }
  const isThere = found.running_job_id === null && found.last_job_id === step.after && found.language === language;
  return isThere ? { beginsSession: false } : { refused: { kind: 'session_conflict', found } };
}

interface AcceptedStep extends Pick<AdmitInput, 'tenant' | 'principal' | 'job_id' | 'created_at' | 'requested_spec'> {
  readonly beginsSession?: boolean | undefined;
}

/** Notes that the step was accepted; part of the transaction that accepts the job. */
export function admitStep(db: StoreDatabase, input: AcceptedStep): void {
  const { tenant, principal, job_id, created_at, requested_spec, beginsSession } = input;
  const { session: step, language } = requested_spec;
  if (step === undefined || principal === undefined) return;
  const { name, after: last_job } = step;
  const row = { tenant, principal, name, language, last_job, next_job: job_id };
  (beginsSession ? beginSession : moveSession).send(db, { ...row, created_at, changed_at: created_at });
}
