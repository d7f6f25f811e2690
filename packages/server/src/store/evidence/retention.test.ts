import { CANARY_TENANT, canaryNamedMilliseconds } from '@vouchbox/evidence';
import { expect } from 'vitest';
import { slowTest, quickTest as test } from '../../../../../test/rig/form.ts';
import { append } from '../history/events.ts';
import { admit } from '../jobs/admission.ts';
import { job, start } from '../jobs/jobs.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase, Tables } from '../schema.ts';
import {
  admission,
  at,
  emptyStore,
  finishOf,
  newKey,
  SPEC,
  startOf,
  stdout,
  type TestDatabase,
} from '../store.fixture.ts';
import { finish } from './outcomes.ts';
import { deleteEnded } from './retention.ts';

async function endedJob(db: StoreDatabase, milliseconds: number, tenant = 'acme'): Promise<JobKey> {
  const key = { ...newKey(), tenant };
  const limits = { calls: 1, call_bytes: 9, total_bytes: 9 };
  const requested_spec = { ...SPEC, tools: { tools: [{ name: 't' }], answered_by: ['p'], limits } };
  const idempotency = { key: key.job_id, spec_sha256: 'a'.repeat(64) };
  await admit(db, admission({ ...key, idempotency, requested_spec }));
  await start(db, startOf(key));
  await append(db, {
    key,
    events: [{ kind: 'tool_call', timestamp: at(1), data: { call: 1, tool: 't', arguments: {} } }],
  });
  const content = new Uint8Array([1]);
  const artifacts = [{ path: 'output/a', size_bytes: 1, sha256: 'b'.repeat(64), content }];
  await finish(db, finishOf(key, { finished_at: at(milliseconds), artifacts }));
  return key;
}

/** The tables that have rows about jobs. */
const OF_JOBS = [
  'jobs',
  'queue',
  'job_specs',
  'events',
  'output_runs',
  'artifacts',
  'receipts',
  'attestation_outbox',
  'attestations',
  'idempotency_keys',
  'stream_tickets',
  'job_tools',
  'tool_calls',
] as const satisfies readonly (keyof Tables)[];

async function rowsOf(connection: TestDatabase, key: JobKey): Promise<number[]> {
  const counts = OF_JOBS.map((table) =>
    connection.rows(`select count(*) as rows from ${table} where job_id = '${key.job_id}'`),
  );
  return (await Promise.all(counts)).map(([count]) => Number(count?.['rows']));
}

test('jobs that ended before the given time are removed with all their rows, a few at a time, the oldest first', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  const [oldest, older, kept] = [await endedJob(db, 100), await endedJob(db, 200), await endedJob(db, 300)];
  expect((await rowsOf(connection, oldest)).filter(Number).length).toBeGreaterThanOrEqual(9);
  expect(await deleteEnded(db, { before: at(300), limit: 1, unattested: 'removed' })).toBe(1);
  expect(new Set(await rowsOf(connection, oldest))).toEqual(new Set([0]));
  expect(await job(db, older)).not.toBeNull();
  expect(await deleteEnded(db, { before: at(300), limit: 2, unattested: 'removed' })).toBe(1);
  expect(await job(db, older)).toBeNull();
  expect(await deleteEnded(db, { before: at(300), limit: 2, unattested: 'removed' })).toBe(0);
  expect(await job(db, kept)).not.toBeNull();
});

slowTest('one removal step ends after its first large job, so that other commands wait only briefly', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  const large: JobKey[] = [];
  for (const milliseconds of [100, 200]) {
    const key = newKey();
    await admit(db, admission(key));
    await start(db, startOf(key));
    await append(db, { key, events: Array.from({ length: 2000 }, () => stdout('')) });
    await finish(db, finishOf(key, { finished_at: at(milliseconds) }));
    large.push(key);
  }
  const small = [await endedJob(db, 10), await endedJob(db, 20), await endedJob(db, 300)];
  const step = { before: at(1000), limit: 9, unattested: 'removed' } as const;
  expect(await deleteEnded(db, step)).toBe(3);
  expect(await deleteEnded(db, step)).toBe(1);
  expect(await deleteEnded(db, step)).toBe(1);
  expect(await deleteEnded(db, step)).toBe(0);
  for (const key of [...large, ...small]) expect(await job(db, key)).toBeNull();
});

test('a job that has not ended stays, however old', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  const [queued, running] = [newKey(), newKey()];
  for (const key of [queued, running]) await admit(db, admission(key));
  await start(db, startOf(running));
  expect(await deleteEnded(db, { before: at(1_000_000_000), limit: 10, unattested: 'removed' })).toBe(0);
  expect(await job(db, queued)).not.toBeNull();
  expect(await job(db, running)).not.toBeNull();
});

test('the idempotency key of a removed job is free again', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  const idempotency = { key: 'k', spec_sha256: 'a'.repeat(64) };
  const first = admission({ idempotency });
  await admit(db, first);
  await finish(db, finishOf(first));
  await deleteEnded(db, { before: at(1_000), limit: 10, unattested: 'removed' });
  expect((await admit(db, admission({ idempotency }))).kind).toBe('created');
});

test('a job that waits for its attestation is kept, and removed once it no longer waits', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  const [waiting, attested] = [await endedJob(db, 100), await endedJob(db, 200)];
  await connection.rows(`delete from attestation_outbox where job_id = '${attested.job_id}'`);
  const step = { before: at(300), limit: 9 };
  expect(await deleteEnded(db, { ...step, unattested: 'kept' })).toBe(1);
  expect(await job(db, attested)).toBeNull();
  expect(await job(db, waiting)).not.toBeNull();
  expect(await deleteEnded(db, { ...step, unattested: 'removed' })).toBe(1);
  expect(await job(db, waiting)).toBeNull();
});

test('a canary is kept longer than the jobs whose receipts may name it', async () => {
  await using connection = await emptyStore();
  const db = connection.db;
  const [named, job_of_tenant] = [await endedJob(db, 100, CANARY_TENANT), await endedJob(db, 200)];
  const step = { limit: 9, unattested: 'removed' } as const;
  expect(await deleteEnded(db, { ...step, before: at(300) })).toBe(1);
  expect(await job(db, job_of_tenant)).toBeNull();
  expect(await job(db, named)).not.toBeNull();
  expect(await deleteEnded(db, { ...step, before: at(100 + 2 * canaryNamedMilliseconds) })).toBe(0);
  expect(await deleteEnded(db, { ...step, before: at(101 + 2 * canaryNamedMilliseconds) })).toBe(1);
  expect(await job(db, named)).toBeNull();
});
