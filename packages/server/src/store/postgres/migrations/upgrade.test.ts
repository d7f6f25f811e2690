/** Upgrades, beside nodes that work, from this version to a later version that the test makes up. */
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { admitJob, at, finishOf, newKey, runJob } from '../../store.fixture.ts';
import type { Store } from '../../store.ts';
import type { StoreError } from '../../store-error.ts';
import { POSTGRES_SAME_THREAD } from '../../threads.fixture.ts';
import { Session } from '../connection.ts';
import { storeErrorOf } from '../error.ts';
import { openPostgresStore } from '../open.ts';
import { dropSchema, newSchema } from '../schema.fixture.ts';
import { NEXT_STEPS } from './next-version.fixture.ts';
import { shutOutBelow } from './schema-state.ts';
import { type PostgresStep, rangeOf, STEPS } from './steps.ts';
import { backfillRowsMax } from './take-step.ts';

const present = rangeOf(STEPS).knows;
const expanded = rangeOf(NEXT_STEPS).needs;
const whole = rangeOf(NEXT_STEPS).knows;

let url: string;
beforeEach(async () => {
  url = await newSchema(inject('postgresUrl'));
});
afterEach(() => dropSchema(url));

/** A node on the test's own thread. */
function node(instance: string, steps: readonly PostgresStep[] = STEPS): Promise<Store> {
  return openPostgresStore({
    url,
    check: 'off',
    onProblem: () => {},
    instance,
    steps,
    threads: POSTGRES_SAME_THREAD,
  });
}

async function asked<Row>(sql: string): Promise<readonly Row[]> {
  await using session = await Session.open(url, {});
  return (await session.execute<Row & object>({ sql, parameters: [] })).rows;
}

async function version(): Promise<number> {
  return (await asked<{ version: number }>('select version from schema_state'))[0]?.version ?? 0;
}

async function refusal(opening: Promise<Store>): Promise<StoreError> {
  try {
    await (await opening)[Symbol.asyncDispose]();
  } catch (error) {
    return error as StoreError;
  }
  throw new Error('the node started');
}

/** Stores more ended jobs than one transaction of a backfill looks at. */
async function manyJobs(count: number): Promise<void> {
  await asked(`insert into jobs (tenant, job_id, status, language, created_at, finished_at, cancellation_requested,
      truncated, chain_seq, chain_head)
    select 'many', 'job_' || lpad(at::text, 6, '0'), 'succeeded', 'bash', '${at(0)}', '${at(1)}', 0, 0, 1, 'head'
    from generate_series(1, ${count}) as at`);
}

/** How far the backfill has come; null before it begins and after it has ended. */
async function progress(): Promise<{ position: string | null; rows_done: number; is_last_pass: number } | null> {
  const rows = await asked<{ position: string; rows_done: number; is_last_pass: number }>(
    'select position, rows_done, is_last_pass from backfills',
  );
  return rows[0] ?? null;
}

const unfilled = 'select job_id from jobs where finished_at is not null and outcome is null';

test('a node states the schemas that it can use', async () => {
  await using _this = await node('this');
  await using _next = await node('next', NEXT_STEPS);
  expect(await asked('select instance, schema_needs, schema_knows from nodes order by node')).toEqual([
    { instance: 'this', schema_needs: present, schema_knows: present },
    { instance: 'next', schema_needs: expanded, schema_knows: whole },
  ]);
});

test('queries of older nodes still work after a starting node has changed the schema', async () => {
  await using older = await node('older');
  const key = await admitJob(older);
  const credential = {
    credential_id: 'c',
    tenant: key.tenant,
    principal: 'p',
    scopes: ['jobs:read' as const],
    secret_sha256: 'a'.repeat(64),
    created_at: at(0),
    expires_at: null,
    revoked_at: null,
  };
  await older.createCredential(credential);
  const ticket = (digit: string) => ({
    ticket_sha256: digit.repeat(64),
    job_id: key.job_id,
    caller: { ...credential, auth_method: 'key' as const },
    created_at: at(0),
    expires_at: at(60_000),
  });
  const use = (digit: string) =>
    older.consumeTicket({ ticket_sha256: digit.repeat(64), job_id: key.job_id, now: at(1) });
  const before = [await older.credential('c'), await older.credentials(null), await older.job(key)];
  await older.storeTicket(ticket('1'));
  await use('1');
  await using newer = await node('newer', NEXT_STEPS);
  expect(await version()).toBe(expanded);
  expect([await older.credential('c'), await older.credentials(null), await older.job(key)]).toEqual(before);
  await older.storeTicket(ticket('2'));
  expect(await use('2')).not.toBeNull();
  await admitJob(newer);
  expect((await older.counts()).queued).toBe(2);
});

test('rows are converted while older nodes run, and the old form is removed after the last older node left', async () => {
  await manyJobsIn(async () => await manyJobs(3 * backfillRowsMax));
  await using older = await node('older');
  await using _newer = await node('newer', NEXT_STEPS);
  await expect.poll(async () => (await progress())?.rows_done).toBe(3 * backfillRowsMax);
  // A row in the old form, before all rows that the backfill has looked at.
  const key = await runJob(older, newKey('a'));
  await older.finish(finishOf(key));
  expect(await asked(unfilled)).toHaveLength(1);
  expect(await version()).toBe(expanded);
  await older[Symbol.asyncDispose]();
  await expect.poll(version).toBe(whole);
  expect(await asked(unfilled)).toEqual([]);
  expect(await progress()).toBeNull();
});

/** Starts a node that makes the tables, ends this node, and then fills the tables. */
async function manyJobsIn(fill: () => Promise<void>): Promise<void> {
  await (await node('first'))[Symbol.asyncDispose]();
  await fill();
}

test('older code may start until all rows are converted, and is refused afterwards', async () => {
  await using older = await node('older');
  await using _newer = await node('newer', NEXT_STEPS);
  const another = await node('another');
  await another[Symbol.asyncDispose]();
  await older[Symbol.asyncDispose]();
  await expect.poll(version).toBe(whole);
  const error = await refusal(node('older'));
  expect(error.code).toBe('newer_schema');
  expect(error.message).toMatch(/knows schema \d+, and this one knows \d+: start the newer version$/);
});

test('a start that would break a living older node is refused in one line that names the node', async () => {
  const later: PostgresStep = { name: '9004-later', kind: 'expand', sql: 'create table later (at integer)' };
  await using older = await node('older');
  await older.fleet?.announce(() => ({
    version: '0.9',
    roles: [],
    executor: null,
    signs_with: null,
    signing_problem: null,
  }));
  const error = await refusal(node('newest', [...NEXT_STEPS, later]));
  expect(error.code).toBe('locked');
  expect(error.message).toMatch(
    /: node \d+ \(0\.9\) is of an earlier version [^\n]*: stop that node, then start this one again$/,
  );
  expect(await version()).toBeLessThan(whole);
  await older[Symbol.asyncDispose]();
  await using _newest = await node('newest', [...NEXT_STEPS, later]);
  expect(await version()).toBe(whole + 1);
});

test('an older node stays in use if it renews its lease at the moment when it would be excluded', async () => {
  await (await node('first'))[Symbol.asyncDispose]();
  await asked(`insert into nodes (node, instance, started_at, lease_until, schema_needs, schema_knows)
    values (1000, 'late', now(), now() - interval '1 s', ${present}, ${present})`);
  const [before] = await asked<{ oldest_code: number }>('select oldest_code from schema_state');
  await using newer = await Session.open(url, {});
  const shutOut = () => shutOutBelow(newer, whole, { instance: 'newer', removesDead: true });
  await expect.poll(() => whileRenewed(shutOut)).toMatchObject([{ node: 1000, is_alive: true }]);
  expect(await asked('select oldest_code from schema_state')).toEqual([before]);
});

/** Renews every lease in a transaction that is committed once `work` waits for it. Null if `work` gave up waiting. */
async function whileRenewed<Result>(work: () => Promise<Result>): Promise<Result | null> {
  await using renewing = await Session.open(url, {});
  renewing.begin();
  await renewing.execute({ sql: `update nodes set lease_until = now() + interval '1 h'`, parameters: [] });
  let isOver = false;
  const ended = work()
    .catch((thrown: unknown) => (storeErrorOf(thrown).code === 'busy' ? null : Promise.reject(thrown)))
    .finally(() => {
      isOver = true;
    });
  const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'delete from nodes%'
    and datname = current_database()`;
  await expect.poll(async () => isOver || (await asked(waiting)).length > 0, { interval: 5 }).toBe(true);
  await (isOver ? renewing.rollback() : renewing.commit());
  return await ended;
}

test('a start waits for its locks without blocking other users of the same tables', async () => {
  await using older = await node('older');
  await using reader = await Session.open(url, {});
  reader.begin();
  await reader.execute({ sql: 'lock table credentials in access share mode', parameters: [] });
  let isOpen = false;
  const opening = node('newer', NEXT_STEPS).then((store) => {
    isOpen = true;
    return store;
  });
  const tried = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%credentials add column%'
    and datname = current_database()`;
  await expect.poll(async () => await asked(tried), { interval: 5 }).not.toEqual([]);
  // The query would wait behind the step for as long as the step waits for its lock.
  expect(await older.credentials(null)).toEqual([]);
  expect(isOpen).toBe(false);
  await reader.commit();
  await using _newer = await opening;
  expect(await version()).toBe(expanded);
});

test('a store with an unknown migration step, but without a later version, is refused', async () => {
  await (await node('first'))[Symbol.asyncDispose]();
  await asked(`insert into schema_history values ('0005-other', '2030')`);
  expect((await refusal(node('first'))).code).toBe('unrecognised');
});
