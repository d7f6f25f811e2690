/**
 * Whose job runs next. The tenant with the fewest jobs running or chosen goes first; among equals the one whose last
 * turn is longest ago; within a tenant the oldest job. So one tenant's thousand queued jobs do not hold up another's
 * first, and two tenants that both keep the queue full get the same number of slots. A job that runs cannot be put back:
 * once the ledger knows a second tenant, no tenant gets the last slot beside all the others.
 */
import { prepared } from './prepared.ts';
import type { JobKey, QueueChoice, QueuedJob } from './records.ts';
import type { LedgerDatabase } from './schema.ts';
import { hasSeveralTenants, joinedQueue, leftQueue, waitingTenants } from './tenants.ts';

const insertQueued = prepared((db, row: QueuedJob) =>
  db.insertInto('queue').values({
    tenant: row.tenant,
    job_id: row.job_id,
    language: row.language,
    runtime: row.runtime,
    mem_mb: row.mem_mb,
    created_at: row.created_at,
  }),
);

const deleteQueued = prepared((db, { tenant, job_id }: JobKey) =>
  db.deleteFrom('queue').where('tenant', '=', tenant).where('job_id', '=', job_id),
);

const selectOldest = prepared((db, { tenant, limit }: { tenant: string; limit: number }) =>
  db
    .selectFrom('queue')
    .select(['tenant', 'job_id', 'language', 'runtime', 'mem_mb', 'created_at'])
    .where('tenant', '=', tenant)
    .orderBy('created_at')
    .orderBy('job_id')
    .limit(limit),
);

/** A tenant in the course of a choice. */
interface Contender {
  readonly tenant: string;
  /** Jobs for which it holds a slot: running, taken by the caller, or chosen just now. */
  load: number;
  readonly lastTurn: number;
  /** Its queued jobs that nobody took, oldest first; null until it is first considered. */
  jobs: QueuedJob[] | null;
}

/**
 * See `Store.queuedJobs`. `exclude` names jobs that the caller has taken already: they count as their tenant's load and
 * are not answered.
 */
export async function queuedJobs(db: LedgerDatabase, choice: QueueChoice): Promise<readonly QueuedJob[]> {
  const contenders = (await waitingTenants(db)).map(
    ({ tenant, running, last_turn }): Contender => ({ tenant, load: running, lastTurn: last_turn, jobs: null }),
  );
  const loadMax = choice.tenantSlots ?? (await fairShare(db, choice.slots));
  const chosen: QueuedJob[] = [];
  while (chosen.length < choice.limit) {
    const next = firstInTurn(contenders, loadMax);
    if (next === null) break;
    if (next.jobs === null) await considerJobs(db, next, choice);
    else chosen.push(...takeTurn(next));
  }
  return chosen;
}

/** Reads a tenant's oldest jobs and counts those already taken: it may no longer be first in turn. */
async function considerJobs(db: LedgerDatabase, contender: Contender, { exclude, limit }: QueueChoice): Promise<void> {
  const { tenant } = contender;
  const oldest = await selectOldest.all(db, { tenant, limit: limit + exclude.length });
  contender.jobs = oldest.filter(({ job_id }) => !exclude.includes(job_id));
  contender.load += oldest.length - contender.jobs.length;
}

/** The tenant's oldest job, as none or one. Its load alone says that it had this turn: the choice is not stored. */
function takeTurn(contender: Contender): QueuedJob[] {
  contender.load += 1;
  return contender.jobs?.splice(0, 1) ?? [];
}

/** What one tenant may have of the slots: all of them while it is alone, all but one among others. */
async function fairShare(db: LedgerDatabase, slots: number): Promise<number> {
  return (await hasSeveralTenants(db)) ? Math.max(1, slots - 1) : slots;
}

function firstInTurn(contenders: readonly Contender[], loadMax: number): Contender | null {
  let first: Contender | null = null;
  for (const contender of contenders) {
    if (contender.jobs?.length === 0 || contender.load >= loadMax) continue;
    if (first === null || comesBefore(contender, first)) first = contender;
  }
  return first;
}

function comesBefore(one: Contender, other: Contender): boolean {
  return one.load === other.load ? one.lastTurn < other.lastTurn : one.load < other.load;
}

/** Queues a job; part of the transaction that accepts it. */
export async function enqueue(db: LedgerDatabase, job: QueuedJob): Promise<void> {
  await insertQueued.run(db, job);
  await joinedQueue(db, job.tenant);
}

/** Takes a job out of the queue; part of the transaction that starts it or ends it. */
export async function dequeue(db: LedgerDatabase, key: JobKey): Promise<void> {
  await deleteQueued.run(db, key);
  await leftQueue(db, key.tenant);
}

/** When the job was accepted that waits longest: the oldest among each waiting tenant's oldest. */
export async function oldestQueuedAt(db: LedgerDatabase): Promise<string | null> {
  const oldest: string[] = [];
  for (const { tenant } of await waitingTenants(db)) {
    oldest.push(...(await selectOldest.all(db, { tenant, limit: 1 })).map((job) => job.created_at));
  }
  return oldest.sort()[0] ?? null;
}
