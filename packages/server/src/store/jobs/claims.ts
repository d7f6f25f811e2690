/**
 * Claims tell which node has taken which job, in a store that several nodes share. A node claims a queued job before preparing a
 * cell for it. A job that starts at once is claimed in the transaction that accepts it. The end of a job removes its claim. The
 * claim of a node that no longer has a row has no effect: another node ends the job, or takes it from the queue. A store for one
 * process has no claims, and the functions that make or remove claims do nothing there.
 */
import { sql } from 'kysely';
import { deleteBy, hasIn, hasKey, insertOf, JOB, same, selectBy } from '../by-column.ts';
import { nodeOf, prepared, requireNode } from '../prepared.ts';
import type { Abilities } from '../records/inputs.ts';
import { type JobKey, PAIR_SLOTS, type QueuedJob, type TakenJob } from '../records/rows.ts';
import type { ClaimTable, StoreDatabase } from '../schema.ts';
import { PAIR, PEER_IN_SPEC } from './pairs.ts';

const insertClaim = insertOf('claims', [...JOB, 'node']);

/** Claims a queued job, but does not wait for a lock: a transaction that has locked the job is taking or cancelling it. */
const claimQueued = prepared((db, asked: ClaimTable) =>
  db
    .insertInto('claims')
    .columns(['tenant', 'job_id', 'node'])
    .expression((row) =>
      row
        .selectFrom('queue')
        .select(['tenant', 'job_id', sql<number>`cast(${asked.node} as bigint)`.as('node')])
        .where(hasKey('queue', JOB, asked))
        .forUpdate()
        .skipLocked(),
    )
    .onConflict((conflict) => conflict.doNothing()),
);

const selectClaim = selectBy('claims', [...JOB, 'node'], ['node']);
const selectClaimant = selectBy('claims', JOB, ['node']);

const selectTaken = prepared((db, { node }: { node: number }) =>
  db
    .selectFrom('claims')
    .innerJoin('jobs', (join) => join.on(same(JOB, 'jobs', 'claims')))
    .select(['jobs.tenant', 'jobs.job_id', 'jobs.status', 'jobs.created_at', 'jobs.started_at'])
    .where('claims.node', '=', node),
);

const deleteClaim = deleteBy('claims', JOB);
const deleteClaimOf = deleteBy('claims', [...JOB, 'node']);

/** Deletes gone nodes' claims, except on running jobs: such a job is found again if the node that is to end it dies. */
const deleteOrphans = prepared((db) =>
  db
    .deleteFrom('claims')
    .where((is) => is.not(hasIn('jobs', JOB, { of: 'claims', where: sql`jobs.status = 'running'` })))
    .where((is) => is.not(hasIn('nodes', ['node'], { of: 'claims' }))),
);

/**
 * A specification in a form that PostgreSQL can read. If a string in a JSON text has U+0000, PostgreSQL reads no member of the
 * text, so U+0000 is left out. Escaped backslashes are left out, too: one before `u0000` would look like the escape.
 */
const readableSpec = sql<string>`case when strpos(job_specs.requested_spec, '\\u0000') = 0 then job_specs.requested_spec
  else replace(replace(job_specs.requested_spec, '\\\\', ''), '\\u0000', '') end`;

/** A job's demand as stored: its isolation class, then the limits to enforce. `demandsMetBy` lists the demands a node meets. */
const isolationDemand = sql<string>`coalesce((${readableSpec})::json #>> '{requirements,minimum_isolation}', 'none')
  || coalesce((${readableSpec})::json #>> '{requirements,enforced}', '')`;

interface UnclaimedAsked extends Abilities {
  readonly tenant: string;
  readonly limit: number;
  readonly tests: number;
  readonly slots: number;
}

/** Whether a node has two slots and can run both jobs of a pair at the same time. */
function isPairOf(asked: Abilities & { slots: number }) {
  return sql<boolean>`cast(${asked.slots} as bigint) >= ${sql.lit(PAIR_SLOTS)}
    and mem_mb * ${sql.lit(PAIR_SLOTS)} <= cast(${asked.memMbMax} as bigint)
    and (select count(*) from jobs join job_specs using (tenant, job_id)
      where jobs.tenant = queue.tenant
        and jobs.job_id in (queue.job_id, (select substring(spec.requested_spec from ${PEER_IN_SPEC}) from job_specs as spec
          where spec.tenant = queue.tenant and spec.job_id = queue.job_id))
        and (jobs.runtime = any(${asked.packs}) or jobs.runtime is null and jobs.language = any(${asked.languages}))
        and ${isolationDemand} = any(${asked.isolation})) = ${sql.lit(PAIR_SLOTS)}`;
}

/**
 * Selects jobs that no node has taken. The query goes through the tenant's queue in order until it has found enough. Its other
 * conditions are subqueries, because a planner could begin a join with all of the tenant's jobs.
 */
const selectUnclaimed = prepared((db, asked: UnclaimedAsked) =>
  db
    .selectFrom('queue')
    .select(['tenant', 'job_id', 'language', 'runtime', 'mem_mb', 'created_at', 'is_test'])
    .where('tenant', '=', asked.tenant)
    .where('mem_mb', '<=', asked.memMbMax)
    .where('is_test', '<=', asked.tests)
    .where((row) =>
      row.or([
        row.and([row('runtime', 'is', null), sql<boolean>`language = any(${asked.languages})`]),
        sql<boolean>`runtime = any(${asked.packs})`,
        row.and([row('runtime', '=', sql.lit(PAIR)), isPairOf(asked)]),
      ]),
    )
    .where((row) =>
      row(
        row
          .selectFrom('claims')
          .select('claims.node')
          .where(same(JOB, 'claims', 'queue')),
        'is',
        null,
      ),
    )
    .where((row) => {
      const demand = row
        .selectFrom('job_specs')
        .select(isolationDemand.as('demand'))
        .where(same(JOB, 'job_specs', 'queue'));
      return sql<boolean>`${demand} = any(${asked.isolation})`;
    })
    .orderBy('created_at')
    .orderBy('job_id')
    .limit(asked.limit),
);

/** A tenant's oldest queued jobs that no node has taken and that this node can run. */
export function unclaimedJobs(db: StoreDatabase, asked: UnclaimedAsked): Promise<QueuedJob[]> {
  return selectUnclaimed.all(db, asked);
}

/** The node that has taken a job; null if none has, and always null in a store for one process. */
export async function claimantOf(db: StoreDatabase, key: JobKey): Promise<number | null> {
  return nodeOf(db) === null ? null : ((await selectClaimant.first(db, key))?.node ?? null);
}

/** Claims a job that starts at once; part of the transaction that accepts it. */
export function claim(db: StoreDatabase, { tenant, job_id }: JobKey): void {
  const node = nodeOf(db);
  if (node !== null) insertClaim.send(db, { tenant, job_id, node });
}

/** Claims a queued job. False if the job is no longer queued, or if another node has claimed it or is about to. */
export async function takeFromQueue(db: StoreDatabase, { tenant, job_id }: JobKey): Promise<boolean> {
  const node = nodeOf(db);
  return node === null || (await claimQueued.run(db, { tenant, job_id, node })) > 0;
}

/**
 * Whether this node may start a queued job. In a store for one process it always may; elsewhere it needs a claim. If no node has
 * claimed the job, this call claims it.
 */
export async function isTaken(db: StoreDatabase, { tenant, job_id }: JobKey): Promise<boolean> {
  const node = nodeOf(db);
  if (node === null || (await selectClaim.first(db, { tenant, job_id, node })) !== null) return true;
  return await takeFromQueue(db, { tenant, job_id });
}

/**
 * Removes a job's claim, in the transaction that ends the job. A separate statement does this, after the statement that takes the
 * job from the queue: that statement may wait for a node that makes a claim, and would not see the new claim.
 */
export function endClaim(db: StoreDatabase, { tenant, job_id }: JobKey): void {
  if (nodeOf(db) !== null) deleteClaim.send(db, { tenant, job_id });
}

/** The jobs that this node has taken, according to the store. */
export async function takenJobs(db: StoreDatabase): Promise<readonly TakenJob[]> {
  const rows = await selectTaken.all(db, { node: requireNode(db) });
  return rows.map(({ created_at, started_at, ...job }) => ({ ...job, started_at: started_at ?? created_at }));
}

/** Puts back into the queue the jobs that this node claimed but did not start. */
export async function releaseJobs(db: StoreDatabase, keys: readonly JobKey[]): Promise<void> {
  const node = requireNode(db);
  deleteClaimOf.sendEach(
    db,
    keys.map(({ tenant, job_id }) => ({ tenant, job_id, node })),
  );
}

/**
 * Removes the claims of nodes that are gone, except on running jobs. So jobs that were not started are back in the queue. Returns
 * how many claims were removed.
 */
export async function releaseOrphans(db: StoreDatabase): Promise<number> {
  return await deleteOrphans.run(db, {});
}

/** The number of this process among those that share the store; null in a store for one process. */
export async function node(db: StoreDatabase): Promise<number | null> {
  return nodeOf(db);
}
