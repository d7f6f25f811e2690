import { expect, test } from 'vitest';
import { admit } from './admission.ts';
import { requestCancel } from './cancellation.ts';
import { counts } from './health.ts';
import { start } from './jobs.ts';
import { finish } from './outcomes.ts';
import { queuedJobs } from './queue.ts';
import type { JobKey } from './records.ts';
import type { LedgerDatabase } from './schema.ts';
import { admission, at, choice, finishOf, memoryLedger, newKey, startOf } from './test-ledger.ts';

/** Keys of as many queued jobs of the tenant, oldest first. */
async function admitMany(db: LedgerDatabase, tenant: string, count: number): Promise<JobKey[]> {
  const keys = Array.from({ length: count }, () => newKey(tenant)).sort((a, b) => (a.job_id < b.job_id ? -1 : 1));
  for (const key of keys) await admit(db, admission(key));
  return keys;
}

const ids = (jobs: readonly JobKey[]) => jobs.map((job) => job.job_id);

test('within a tenant the oldest job comes first', async () => {
  using connection = await memoryLedger();
  const db = connection.ledger;
  const keys = await admitMany(db, 'acme', 3);
  expect(ids(await queuedJobs(db, choice({ exclude: [], limit: 10 })))).toEqual(ids(keys));
  expect(ids(await queuedJobs(db, choice({ exclude: [], limit: 2 })))).toEqual(ids(keys.slice(0, 2)));
  expect(await queuedJobs(db, choice({ exclude: [], limit: 0 }))).toEqual([]);
});

test("one tenant's thousand queued jobs do not hold up another's first", async () => {
  using connection = await memoryLedger();
  const db = connection.ledger;
  const many = await admitMany(db, 'many', 1000);
  for (const key of many.slice(0, 3)) await start(db, startOf(key));
  const [first] = await admitMany(db, 'one', 1);
  expect((await queuedJobs(db, choice({ exclude: [], limit: 1 })))[0]?.job_id).toBe(first?.job_id);
});

test('with one slot, tenants take turns however many jobs they have', async () => {
  using connection = await memoryLedger();
  const db = connection.ledger;
  await admitMany(db, 'many', 20);
  await admitMany(db, 'few', 3);
  const order: string[] = [];
  for (let slot = 0; slot < 8; slot++) {
    for (const next of await queuedJobs(db, choice({ exclude: [], limit: 1 }))) {
      await start(db, startOf(next));
      await finish(db, finishOf(next));
      order.push(next.tenant);
    }
  }
  expect(order.join(' ')).toMatch(/^(many few many few many few|few many few many few many) many many$/);
});

test('a tenant whose jobs hold the slots waits for one that holds none', async () => {
  using connection = await memoryLedger();
  const db = connection.ledger;
  const held = await admitMany(db, 'holder', 5);
  for (const key of held.slice(0, 2)) await start(db, startOf(key));
  await admitMany(db, 'newcomer', 5);
  const tenants = (await queuedJobs(db, choice({ exclude: [], limit: 4 }))).map((job) => job.tenant);
  expect(tenants).toEqual(['newcomer', 'newcomer', 'newcomer', 'holder']);
});

test('jobs that were taken already are not answered, and count as their tenant’s turn', async () => {
  using connection = await memoryLedger();
  const db = connection.ledger;
  const one = await admitMany(db, 'one', 3);
  const other = await admitMany(db, 'other', 3);
  const exclude = ids(one.slice(0, 1));
  expect(ids(await queuedJobs(db, choice({ exclude, limit: 1 })))).toEqual(ids(other.slice(0, 1)));
  const all = await queuedJobs(db, choice({ exclude, limit: 10 }));
  expect(ids(all).sort()).toEqual(ids([...one.slice(1), ...other]).sort());
});

test('a job leaves the queue when it starts, is cancelled or fails to start', async () => {
  using connection = await memoryLedger();
  const db = connection.ledger;
  const [started, cancelled, failed] = (await admitMany(db, 'acme', 3)) as [JobKey, JobKey, JobKey];
  await start(db, startOf(started));
  await requestCancel(db, { ...cancelled, principal: 'p', at: at(1) });
  await finish(db, finishOf(failed, { status: 'error', terminal_reason: 'bootstrap_failed', exit_code: null }));
  expect(await queuedJobs(db, choice({ exclude: [], limit: 10 }))).toEqual([]);
  expect(await counts(db)).toMatchObject({ queued: 0, running: 1, oldest_queued_at: null, outbox: 2 });
});

test('the dispatcher is told what it weighs: language, runtime and memory', async () => {
  using connection = await memoryLedger();
  const db = connection.ledger;
  const [key] = await admitMany(db, 'acme', 1);
  const [job] = await queuedJobs(db, choice({ exclude: [], limit: 1 }));
  expect(job).toEqual({ ...key, language: 'python', runtime: null, mem_mb: 256, created_at: at(0) });
});

test('the age of the oldest queued job is that of the oldest of any tenant', async () => {
  using connection = await memoryLedger();
  const db = connection.ledger;
  await admit(db, admission({ tenant: 'b', created_at: at(5) }));
  await admit(db, admission({ tenant: 'a', created_at: at(9) }));
  expect(await counts(db)).toMatchObject({ queued: 2, oldest_queued_at: at(5) });
});

test('a tenant may hold every slot while no other ever submitted a job, and then all but one', async () => {
  using connection = await memoryLedger();
  const db = connection.ledger;
  const slots = { exclude: [], limit: 4, slots: 4, tenantSlots: null };
  await admitMany(db, 'acme', 9);
  expect(await queuedJobs(db, slots)).toHaveLength(4);
  const [other] = (await admitMany(db, 'other', 1)) as [JobKey];
  await requestCancel(db, { ...other, principal: 'p', at: at(1) });
  const chosen = await queuedJobs(db, slots);
  expect(chosen).toHaveLength(3);
  for (const job of chosen) await start(db, startOf(job));
  expect(await queuedJobs(db, { ...slots, limit: 1 })).toEqual([]);
  expect(await queuedJobs(db, { ...slots, slots: 1, limit: 1, exclude: [] })).toEqual([]);
});

test('a tenant holds no more slots than the operator says, those it was just given included', async () => {
  using connection = await memoryLedger();
  const db = connection.ledger;
  const [first] = (await admitMany(db, 'acme', 9)) as [JobKey];
  const asked = { limit: 8, slots: 9, tenantSlots: 2 };
  expect(await queuedJobs(db, { ...asked, exclude: [] })).toHaveLength(2);
  expect(await queuedJobs(db, { ...asked, exclude: [first.job_id] })).toHaveLength(1);
});
