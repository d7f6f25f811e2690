/**
 * How many jobs of each tenant wait and run, kept in the transactions that change it, so that bounds and turns cost the
 * same however long the queue is.
 */
import { sql } from 'kysely';
import { prepared } from './prepared.ts';
import type { LedgerDatabase } from './schema.ts';

/** A tenant with jobs in the queue, and what decides its next turn. */
export interface WaitingTenant {
  readonly tenant: string;
  readonly queued: number;
  readonly running: number;
  readonly last_turn: number;
}

const waiting = prepared((db) =>
  db.selectFrom('tenants').select(['tenant', 'queued', 'running', 'last_turn']).where('queued', '>', sql.lit(0)),
);

const selectTwo = prepared((db) => db.selectFrom('tenants').select('tenant').limit(sql.lit(2)));

const countQueued = prepared((db) =>
  db
    .selectFrom('tenants')
    .select((row) => row.fn.sum<number | null>('queued').as('queued'))
    .where('queued', '>', sql.lit(0)),
);

const selectCounts = prepared((db, { tenant }: { tenant: string }) =>
  db.selectFrom('tenants').select(['queued', 'running']).where('tenant', '=', tenant),
);

const enter = prepared((db, { tenant }: { tenant: string }) =>
  db
    .insertInto('tenants')
    .values({ tenant, queued: 1, running: 0, last_turn: 0 })
    .onConflict((conflict) =>
      conflict.column('tenant').doUpdateSet((row) => ({ queued: row('tenants.queued', '+', 1) })),
    ),
);

const leaveQueue = prepared((db, { tenant }: { tenant: string }) =>
  db
    .updateTable('tenants')
    .set((row) => ({ queued: row('queued', '-', 1) }))
    .where('tenant', '=', tenant),
);

const takeTurn = prepared((db, { tenant }: { tenant: string }) =>
  db
    .updateTable('tenants')
    .set((row) => ({
      running: row('running', '+', 1),
      last_turn: sql<number>`(select max(last_turn) + 1 from tenants)`,
    }))
    .where('tenant', '=', tenant),
);

const leaveRunning = prepared((db, { tenant }: { tenant: string }) =>
  db
    .updateTable('tenants')
    .set((row) => ({ running: row('running', '-', 1) }))
    .where('tenant', '=', tenant),
);

/** Every tenant with a queued job, in no order. */
export function waitingTenants(db: LedgerDatabase): Promise<WaitingTenant[]> {
  return waiting.all(db, {});
}

/** Whether jobs of more than one tenant were ever submitted. */
export async function hasSeveralTenants(db: LedgerDatabase): Promise<boolean> {
  return (await selectTwo.all(db, {})).length > 1;
}

/** How many jobs of everybody are queued. */
export async function queueDepth(db: LedgerDatabase): Promise<number> {
  return Number((await countQueued.first(db, {}))?.queued ?? 0);
}

/** How many jobs of one tenant are queued, and how many run. */
export async function tenantCounts(db: LedgerDatabase, tenant: string): Promise<{ queued: number; running: number }> {
  return (await selectCounts.first(db, { tenant })) ?? { queued: 0, running: 0 };
}

/** Records that a job of the tenant joined the queue. */
export async function joinedQueue(db: LedgerDatabase, tenant: string): Promise<void> {
  await enter.run(db, { tenant });
}

/** Records that a job of the tenant left the queue. */
export async function leftQueue(db: LedgerDatabase, tenant: string): Promise<void> {
  await leaveQueue.run(db, { tenant });
}

/** Records that a job of the tenant runs: the tenant had its turn. */
export async function tookTurn(db: LedgerDatabase, tenant: string): Promise<void> {
  await takeTurn.run(db, { tenant });
}

/** Records that a job of the tenant runs no more. */
export async function endedRunning(db: LedgerDatabase, tenant: string): Promise<void> {
  await leaveRunning.run(db, { tenant });
}
