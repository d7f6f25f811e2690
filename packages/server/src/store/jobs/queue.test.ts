import { expect, test } from 'vitest';
import { requestCancel } from '../evidence/cancellation.ts';
import { finish } from '../evidence/outcomes.ts';
import { counts } from '../health.ts';
import type { ChosenJob } from '../records/answers.ts';
import type { QueueChoice } from '../records/inputs.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { admission, at, choice, emptyStore, finishOf, newKey, SPEC, startOf } from '../store.fixture.ts';
import { admit } from './admission.ts';
import { start } from './jobs.ts';
import { queuedJobs } from './queue.ts';

/** Queues this many jobs of the tenant, and returns their keys, oldest first. */
async function admitMany(db: StoreDatabase, tenant: string, count: number): Promise<JobKey[]> {
  const keys = Array.from({ length: count }, () => newKey(tenant)).sort((a, b) => (a.job_id < b.job_id ? -1 : 1));
  for (const key of keys) await admit(db, admission(key));
  return keys;
}

const ids = (jobs: readonly JobKey[]) => jobs.map((job) => job.job_id);

async function chosenJobs(db: StoreDatabase, asked: QueueChoice): Promise<readonly ChosenJob[]> {
  return (await queuedJobs(db, asked)).jobs;
}

test('the oldest job of a tenant is chosen first', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  const keys = await admitMany(db, 'acme', 3);
  expect(ids(await chosenJobs(db, choice({ exclude: [], limit: 10 })))).toEqual(ids(keys));
  expect(ids(await chosenJobs(db, choice({ exclude: [], limit: 2 })))).toEqual(ids(keys.slice(0, 2)));
  expect(await chosenJobs(db, choice({ exclude: [], limit: 0 }))).toEqual([]);
});

test("one tenant's thousand queued jobs do not delay another tenant's first job", async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  const many = await admitMany(db, 'many', 1000);
  for (const key of many.slice(0, 3)) await start(db, startOf(key));
  const [first] = await admitMany(db, 'one', 1);
  expect((await chosenJobs(db, choice({ exclude: [], held: new Map([['many', 3]]), limit: 1 })))[0]?.job_id).toBe(
    first?.job_id,
  );
});

test('with one slot, tenants take turns however many jobs they have', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  await admitMany(db, 'many', 20);
  await admitMany(db, 'few', 3);
  const order: string[] = [];
  for (let slot = 0; slot < 8; slot++) {
    for (const next of await chosenJobs(db, choice({ exclude: [], limit: 1 }))) {
      await start(db, startOf(next));
      await finish(db, finishOf(next));
      order.push(next.tenant);
    }
  }
  expect(order.join(' ')).toMatch(/^(many few many few many few|few many few many few many) many many$/);
});

test('a tenant whose jobs hold the slots waits for a tenant that holds none', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  const held = await admitMany(db, 'holder', 5);
  for (const key of held.slice(0, 2)) await start(db, startOf(key));
  await admitMany(db, 'newcomer', 5);
  const asked = choice({ exclude: [], held: new Map([['holder', 2]]), limit: 4 });
  const tenants = (await chosenJobs(db, asked)).map((job) => job.tenant);
  expect(tenants).toEqual(['newcomer', 'newcomer', 'newcomer', 'holder']);
});

test('a job that was already taken is not chosen again, and counts as a turn of its tenant', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  const one = await admitMany(db, 'one', 3);
  const other = await admitMany(db, 'other', 3);
  const exclude = ids(one.slice(0, 1));
  const held = new Map([['one', 1]]);
  expect(ids(await chosenJobs(db, choice({ exclude, held, limit: 1 })))).toEqual(ids(other.slice(0, 1)));
  const all = await chosenJobs(db, choice({ exclude, held, limit: 10 }));
  expect(ids(all).sort()).toEqual(ids([...one.slice(1), ...other]).sort());
});

test('a job leaves the queue when it starts, is cancelled or fails to start', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  const [started, cancelled, failed] = (await admitMany(db, 'acme', 3)) as [JobKey, JobKey, JobKey];
  await start(db, startOf(started));
  await requestCancel(db, { ...cancelled, principal: 'p', at: at(1) });
  await finish(db, finishOf(failed, { status: 'error', terminal_reason: 'bootstrap_failed', exit_code: null }));
  expect(await chosenJobs(db, choice({ exclude: [], limit: 10 }))).toEqual([]);
  expect(await counts(db)).toMatchObject({ queued: 0, running: 1, oldest_queued_at: null, outbox: 2 });
});

test('the dispatcher gets the language, the pack and the memory of each chosen job', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  const [key] = await admitMany(db, 'acme', 1);
  const [job] = await chosenJobs(db, choice({ exclude: [], limit: 1 }));
  const needs = { language: 'python', runtime: null, mem_mb: 256, is_test: 0 };
  expect(job).toEqual({ ...key, ...needs, created_at: at(0), requested_spec: JSON.stringify(SPEC) });
});

test('the age of the queue is the age of its oldest job, whatever its tenant', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  await admit(db, admission({ tenant: 'b', created_at: at(5) }));
  await admit(db, admission({ tenant: 'a', created_at: at(9) }));
  expect(await counts(db)).toMatchObject({ queued: 2, oldest_queued_at: at(5) });
});

test('a tenant may hold every slot until another tenant submits a job, and then all but one', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  const slots = { exclude: [], held: new Map(), limit: 4, tests: 4, slots: 4, tenantSlots: null };
  await admitMany(db, 'acme', 9);
  expect(await chosenJobs(db, slots)).toHaveLength(4);
  const [other] = (await admitMany(db, 'other', 1)) as [JobKey];
  await requestCancel(db, { ...other, principal: 'p', at: at(1) });
  const chosen = await chosenJobs(db, slots);
  expect(chosen).toHaveLength(3);
  for (const job of chosen) await start(db, startOf(job));
  const held = new Map([['acme', 3]]);
  expect(await chosenJobs(db, { ...slots, held, limit: 1 })).toEqual([]);
  expect(await chosenJobs(db, { ...slots, held, slots: 1, limit: 1 })).toEqual([]);
});

test('a tenant holds at most the slots that the operator allows, including slots given by the same choice', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  const [first] = (await admitMany(db, 'acme', 9)) as [JobKey];
  const asked = { limit: 8, tests: 8, slots: 9, tenantSlots: 2 };
  expect(await chosenJobs(db, { ...asked, exclude: [], held: new Map() })).toHaveLength(2);
  expect(await chosenJobs(db, { ...asked, exclude: [first.job_id], held: new Map([['acme', 1]]) })).toHaveLength(1);
});

test('the queue counts as empty if every waiting job was chosen, but not if a limit holds a job back', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  expect(await queuedJobs(db, choice({ exclude: [], limit: 2 }))).toEqual({ jobs: [], isEmpty: true, tenants: [] });
  const [first, second] = (await admitMany(db, 'acme', 3)) as [JobKey, JobKey, JobKey];
  const isEmpty = async (asked: Pick<QueueChoice, 'exclude' | 'limit'> & Partial<QueueChoice>) =>
    (await queuedJobs(db, choice(asked))).isEmpty;
  expect(await isEmpty({ exclude: [], limit: 2 })).toBe(false);
  expect(await isEmpty({ exclude: [], limit: 3 })).toBe(true);
  expect(await isEmpty({ exclude: [first.job_id], limit: 1 })).toBe(false);
  expect(await isEmpty({ exclude: [first.job_id, second.job_id], limit: 1 })).toBe(true);
  expect(await isEmpty({ exclude: [], limit: 3, tenantSlots: 2 })).toBe(false);
  await admitMany(db, 'other', 1);
  await admitMany(db, 'third', 1);
  expect((await queuedJobs(db, choice({ exclude: [], limit: 0 }))).tenants).toHaveLength(2);
});

test('a submission of up to 64 KiB is read with its job, and a longer one separately', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  const withCode = (code: string) => ({ ...SPEC, code });
  const bytes = (code: string) => Buffer.byteLength(JSON.stringify(withCode(code)));
  const longest = 'é'.padEnd(64 * 1024 - bytes('') - 1, 'x');
  for (const code of [longest, `${longest}a`]) await admit(db, admission({ requested_spec: withCode(code) }));
  const jobs = await chosenJobs(db, choice({ exclude: [], limit: 2 }));
  const specs = jobs.map(({ requested_spec }) => requested_spec && Buffer.byteLength(requested_spec));
  expect(specs).toHaveLength(2);
  expect(specs).toEqual(expect.arrayContaining([bytes(longest), null]));
});

test('choosing a job with tools returns the language and the pack that the job requested', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  const tools = { tools: [{ name: 't' }], answered_by: ['p'], limits: { calls: 1, call_bytes: 99, total_bytes: 99 } };
  await admit(db, admission({ requested_spec: { ...SPEC, tools, runtime: 'pack' } }));
  expect(await chosenJobs(db, choice({ exclude: [], limit: 1 }))).toMatchObject([
    { language: SPEC.language, runtime: 'pack' },
  ]);
});
