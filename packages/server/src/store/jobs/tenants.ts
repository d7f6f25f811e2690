/**
 * For each tenant, how many jobs wait, how many run, and how many were accepted. The transaction that changes a number also
 * stores it, so bounds and turns cost the same however long the queue is.
 */
import { CANARY_TENANT } from '@vouchbox/evidence';
import { type RawBuilder, sql } from 'kysely';
import { selectBy, updateBy } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { StoreDatabase, TenantTable } from '../schema.ts';

/** A tenant with jobs in the queue, and the numbers that decide its next turn. */
export type WaitingTenant = Readonly<Omit<TenantTable, 'accepted'>>;

/**
 * The number of the tenant's next job. Accepting a job locks the row of its tenant, so no other job gets the same number. Before
 * the tenant's first job, there is no row to lock.
 */
export function nextNumber(tenant: string): RawBuilder<number> {
  return sql<number>`coalesce((select accepted from tenants where tenant = ${tenant}), 0) + 1`;
}

/**
 * The number of the tenant's next job, read from the tenant's row by the statement that stores the job. If another node stores
 * the tenant's first job meanwhile, the statement finds no row. The number is then null, so the statement fails and is repeated.
 */
function oneMore(tenant: string): RawBuilder<number> {
  return sql<number>`(select accepted from tenants where tenant = ${tenant}) + 1`;
}

const nextTurn = sql<number>`(select coalesce(max(last_turn), 0) + 1 from tenants)`;

const waiting = prepared((db) =>
  db.selectFrom('tenants').select(['tenant', 'queued', 'running', 'last_turn']).where('queued', '>', sql.lit(0)),
);

/** Two tenants that submitted jobs. The canaries' tenant does not count, since canaries take nobody's turn. */
const selectTwo = prepared((db) =>
  db.selectFrom('tenants').select('tenant').where('tenant', '!=', sql.lit(CANARY_TENANT)).limit(sql.lit(2)),
);

const selectCounts = selectBy('tenants', ['tenant'], ['queued', 'running']);

const countQueued = prepared((db) =>
  db
    .selectFrom('tenants')
    .select((row) => row.fn.sum<number | null>('queued').as('all'))
    .where('queued', '>', sql.lit(0)),
);

const selectQueued = prepared((db, { tenant }: { tenant: string }) =>
  db
    .selectFrom('tenants')
    .select((row) => [
      row.fn.sum<number | null>('queued').as('all'),
      row.fn.sum<number | null>('queued').filterWhere('tenant', '=', tenant).as('of_tenant'),
    ])
    .where('queued', '>', sql.lit(0)),
);

/** Records that a tenant's job was accepted and started without being queued: the tenant has had its turn. */
export const startedAtOnce = prepared((db, { tenant }: { tenant: string }) =>
  db
    .insertInto('tenants')
    .values({ tenant, queued: 0, running: 1, last_turn: nextTurn, accepted: 1 })
    .onConflict((conflict) =>
      conflict.column('tenant').doUpdateSet((row) => ({
        running: row('tenants.running', '+', 1),
        last_turn: nextTurn,
        accepted: oneMore(tenant),
      })),
    ),
);

/** Records that a job of the tenant was accepted and joined the queue. */
export const joinedQueue = prepared((db, { tenant }: { tenant: string }) =>
  db
    .insertInto('tenants')
    .values({ tenant, queued: 1, running: 0, last_turn: 0, accepted: 1 })
    .onConflict((conflict) =>
      conflict
        .column('tenant')
        .doUpdateSet((row) => ({ queued: row('tenants.queued', '+', 1), accepted: oneMore(tenant) })),
    ),
);

/** Records that a job of the tenant left the queue. */
export const leftQueue = updateBy('tenants', ['tenant'], [], { to: { queued: sql<number>`queued - 1` } });

/** Records that a queued job of the tenant has started: the tenant has had its turn. */
export const startedFromQueue = updateBy('tenants', ['tenant'], [], {
  to: { queued: sql<number>`queued - 1`, running: sql<number>`running + 1`, last_turn: nextTurn },
});

/** Records that a job of the tenant no longer runs. */
export const endedRunning = updateBy('tenants', ['tenant'], [], { to: { running: sql<number>`running - 1` } });

/** Every tenant with a queued job, in no order. */
export function waitingTenants(db: StoreDatabase): Promise<WaitingTenant[]> {
  return waiting.all(db, {});
}

/** Two of the tenants that ever submitted a job; fewer if there are fewer. */
export async function firstTenants(db: StoreDatabase): Promise<readonly string[]> {
  return (await selectTwo.all(db, {})).map(({ tenant }) => tenant);
}

/** How many jobs of all tenants are queued. */
export async function queueDepth(db: StoreDatabase): Promise<number> {
  return Number((await countQueued.first(db, {}))?.all ?? 0);
}

/** How many jobs are queued: one tenant's, and all. */
export async function queuedCounts(db: StoreDatabase, tenant: string): Promise<{ ofTenant: number; all: number }> {
  const counts = await selectQueued.first(db, { tenant });
  return { ofTenant: Number(counts?.of_tenant ?? 0), all: Number(counts?.all ?? 0) };
}

/** How many jobs of one tenant are queued, and how many run. */
export async function tenantCounts(db: StoreDatabase, tenant: string): Promise<{ queued: number; running: number }> {
  return (await selectCounts.first(db, { tenant })) ?? { queued: 0, running: 0 };
}
