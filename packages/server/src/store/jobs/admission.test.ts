import { canonicalJson, sha256Hex } from '@vouchbox/evidence';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listed } from '../kept/listed.fixture.ts';
import type { AdmitResult } from '../records/answers.ts';
import type { AdmitInput } from '../records/inputs.ts';
import type { JobKey } from '../records/rows.ts';
import {
  admission,
  admitJob,
  at,
  choice,
  EXECUTION,
  finishOf,
  newKey,
  SPEC,
  startOf,
  TestStore,
} from '../store.fixture.ts';

let testStore: TestStore;
beforeAll(async () => {
  testStore = await TestStore.open();
});
afterAll(() => testStore[Symbol.asyncDispose]());

let tenants = 0;
/** A tenant that no other test in this file has. */
const freshTenant = () => `tenant-${++tenants}`;

function keyed(key: string, spec_sha256: string, changes: Partial<AdmitInput> = {}): AdmitInput {
  return admission({ idempotency: { key, spec_sha256 }, ...changes });
}

test('an accepted job is queued, with its whole specification and its `queued` event', async () => {
  const { store } = testStore;
  const requested_spec = { ...SPEC, stdin: 'in', outputs: ['output/a'], runtime: 'system' };
  const input = admission({ tenant: freshTenant(), requested_spec });
  const result = await store.admit(input);
  expect(result.kind).toBe('created');
  const job = await store.job(input);
  expect(job).toMatchObject({ status: 'queued', execution: null, receipt_json: null });
  expect(job?.requested_spec).toEqual(requested_spec);
  const { language, runtime, requirements, limits } = requested_spec;
  const page = await store.events({ key: input, after: 0, limit: 10 });
  expect(page?.complete).toBe(false);
  expect(page?.events).toMatchObject([{ seq: 1, kind: 'queued', data: { language, runtime, requirements, limits } }]);
});

test('a job that starts at once is stored as running, with the observations of its cell', async () => {
  const { store } = testStore;
  const input = admission({ tenant: freshTenant(), start: { started_at: at(5), execution: EXECUTION } });
  expect((await store.admit(input)).kind).toBe('created');
  expect(await store.job(input)).toMatchObject({ status: 'running', started_at: at(5), execution: EXECUTION });
  const page = await store.events({ key: input, after: 0, limit: 10 });
  expect(page?.events.map(({ kind }) => kind)).toEqual(['queued', 'started']);
  expect(await store.currentJobs(input.tenant)).toMatchObject({ queued: 0, running: 1 });
});

test('accepting a job returns its id and the time of acceptance', async () => {
  const { store } = testStore;
  const input = admission({ tenant: freshTenant() });
  const { job_id, created_at } = input;
  expect(await store.admit(input)).toEqual({ kind: 'created', job: { job_id, created_at } });
});

test('a repeated idempotency key with the same specification gives the first job, whatever the status of the job', async () => {
  const { store } = testStore;
  const tenant = freshTenant();
  const first = keyed('k', 'a'.repeat(64), { tenant });
  await store.admit(first);
  await store.start(startOf(first));
  const replayed = { kind: 'replayed', job: { job_id: first.job_id, created_at: first.created_at }, peer: null };
  expect(await store.admit(keyed('k', 'a'.repeat(64), { tenant }))).toEqual(replayed);
  await store.finish(finishOf(first));
  expect(await store.admit(keyed('k', 'a'.repeat(64), { tenant }))).toEqual(replayed);
});

test('the same idempotency key with another specification is refused and creates no job', async () => {
  const { store } = testStore;
  const tenant = freshTenant();
  await store.admit(keyed('k', 'a'.repeat(64), { tenant }));
  const other = keyed('k', 'b'.repeat(64), { tenant });
  expect(await store.admit(other)).toEqual({ kind: 'key_reused' });
  expect(await store.job(other)).toBeNull();
});

test('an idempotency key belongs only to its tenant', async () => {
  const { store } = testStore;
  const [one, other] = [freshTenant(), freshTenant()];
  const first = keyed('shared', 'a'.repeat(64), { tenant: one });
  const second = keyed('shared', 'b'.repeat(64), { tenant: other });
  expect((await store.admit(first)).kind).toBe('created');
  expect((await store.admit(second)).kind).toBe('created');
  expect(await store.findByIdempotencyKey({ tenant: one, key: 'shared' })).toMatchObject({
    job: { job_id: first.job_id },
  });
  expect(await store.findByIdempotencyKey({ tenant: other, key: 'shared' })).toMatchObject({
    spec_sha256: 'b'.repeat(64),
  });
  expect(await store.findByIdempotencyKey({ tenant: one, key: 'unknown' })).toBeNull();
});

test('an idempotency key that looks like SQL is a key like any other', async () => {
  const { store } = testStore;
  const tenant = `${freshTenant()}'; drop table jobs; --`;
  const key = `'); delete from jobs; --`;
  const input = keyed(key, 'a'.repeat(64), { tenant });
  expect((await store.admit(input)).kind).toBe('created');
  expect(await store.findByIdempotencyKey({ tenant, key })).toMatchObject({ job: { job_id: input.job_id } });
});

describe('the number of a job among the jobs of its tenant', { tags: ['Artifact-13'] }, () => {
  async function numbers(keys: readonly JobKey[]): Promise<unknown[]> {
    for (const key of keys) await testStore.store.finish(finishOf(key));
    const records = await testStore.store.terminalRecords({ keys, bytesMax: 1_000_000 });
    return records.map((result) => (result.kind === 'record' ? result.record.tenant_number : result));
  }

  test('is given to each job that starts at once, waits or is one of a pair, but not to a refused request', async () => {
    const { store } = testStore;
    const tenant = freshTenant();
    const first = keyed('k', 'a'.repeat(64), { tenant, start: { started_at: at(1), execution: EXECUTION } });
    await store.admit(first);
    await store.admit(keyed('k', 'a'.repeat(64), { tenant }));
    await store.admit(keyed('k', 'b'.repeat(64), { tenant }));
    await store.admit(admission({ tenant, tenantQueueMax: 0 }));
    const other = await admitJob(store, { tenant: freshTenant() });
    const interactor = newKey(tenant);
    const program = await admitJob(store, { tenant, interactor: { ...interactor, requested_spec: SPEC } });
    const last = await admitJob(store, { tenant });
    expect(await numbers([first, program, interactor, last])).toEqual([1, 2, 3, 4]);
    expect(await numbers([other])).toEqual([1]);
  });

  test('is not stored if the operator has turned numbers off, but is still used up', async () => {
    const tenant = freshTenant();
    const keys: JobKey[] = [];
    for (const isNumbered of [true, false, true]) keys.push(await admitJob(testStore.store, { tenant, isNumbered }));
    expect(await numbers(keys)).toEqual([1, null, 3]);
  });

  test('is different for each of many jobs that come at once', async () => {
    const tenant = freshTenant();
    const keys = await Promise.all(Array.from({ length: 12 }, () => admitJob(testStore.store, { tenant })));
    expect(new Set(await numbers(keys))).toEqual(new Set(Array.from({ length: 12 }, (_, at) => at + 1)));
  });
});

test("a tenant's queue takes as many jobs as its limit allows, and no more", async () => {
  const { store } = testStore;
  const tenant = freshTenant();
  const bounded = () => store.admit(admission({ tenant, tenantQueueMax: 2 }));
  expect((await bounded()).kind).toBe('created');
  expect((await bounded()).kind).toBe('created');
  expect(await bounded()).toEqual({ kind: 'full', of: 'tenant' });
  expect((await store.admit(admission({ tenant: freshTenant(), tenantQueueMax: 2 }))).kind).toBe('created');
});

test('the queue takes as many jobs as its limit allows, and a job that starts or ends makes room', async () => {
  await using own = await TestStore.open();
  const { store } = own;
  const bounded = () => store.admit(admission({ tenant: freshTenant(), queueMax: 2 }));
  const first = await admitJob(store);
  const second = await admitJob(store);
  expect(await bounded()).toEqual({ kind: 'full', of: 'queue' });
  await store.start(startOf(first));
  expect((await bounded()).kind).toBe('created');
  expect(await bounded()).toEqual({ kind: 'full', of: 'queue' });
  await store.requestCancel({ ...second, principal: 'p', at: '2026-01-01T00:00:01.000Z' });
  expect((await bounded()).kind).toBe('created');
});

test('a refused submission does not use up its key, and a repeated key is answered even if the queue is full', async () => {
  const { store } = testStore;
  const tenant = freshTenant();
  const refused = keyed('later', 'a'.repeat(64), { tenant, tenantQueueMax: 0 });
  expect(await store.admit(refused)).toEqual({ kind: 'full', of: 'tenant' });
  expect(await store.findByIdempotencyKey({ tenant, key: 'later' })).toBeNull();
  expect((await store.admit({ ...refused, tenantQueueMax: 1 })).kind).toBe('created');
  expect((await store.admit(keyed('later', 'a'.repeat(64), { tenant, tenantQueueMax: 1 }))).kind).toBe('replayed');
});

test('exactly one of many concurrent submissions with one idempotency key creates the job', async () => {
  const { store } = testStore;
  const tenant = freshTenant();
  const results = await Promise.all(
    Array.from({ length: 50 }, () => store.admit(keyed('race', 'a'.repeat(64), { tenant }))),
  );
  expect(results.filter((result) => result.kind === 'created')).toHaveLength(1);
  expect(new Set(results.map((result) => 'job' in result && result.job.job_id)).size).toBe(1);
});

test('many concurrent submissions exceed no limit', async () => {
  const { store } = testStore;
  const tenant = freshTenant();
  const results = await Promise.all(
    Array.from({ length: 50 }, () => store.admit(admission({ tenant, tenantQueueMax: 10 }))),
  );
  expect(results.filter((result) => result.kind === 'created')).toHaveLength(10);
  expect(results.filter((result) => result.kind === 'full')).toHaveLength(40);
});

test('a thousand concurrent submissions each get their own answer, and share transactions', async () => {
  const { store } = testStore;
  const tenant = freshTenant();
  const inputs = Array.from({ length: 1000 }, () => admission({ tenant }));
  const results = await Promise.all(inputs.map((input) => store.admit(input)));
  const created = (result: AdmitResult) => (result.kind === 'created' ? result.job.job_id : null);
  expect(results.map(created)).toEqual(inputs.map((input) => input.job_id));
});

test('a job that is already stored is refused, and the other jobs of the same transaction are stored', async () => {
  const { store } = testStore;
  const tenant = freshTenant();
  const [before, twice, after] = [newKey(tenant), newKey(tenant), newKey(tenant)];
  const results = await Promise.allSettled(
    [before, twice, twice, after].map((key) => store.admit(admission({ ...key }))),
  );
  expect(results.map((result) => result.status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  expect(results[2]).toMatchObject({ reason: { name: 'StoreError', code: 'internal' } });
  expect(await listed(store, { tenant })).toHaveLength(3);
  expect(
    (await store.queuedJobs(choice({ exclude: [], limit: 5000 }))).jobs.filter((job) => job.tenant === tenant),
  ).toHaveLength(3);
});

test('the receipt states the digests of the submitted program, input and files', async () => {
  const { store } = testStore;
  const content = new TextEncoder().encode('a,b\n1,2\n');
  const requested_spec = {
    ...SPEC,
    stdin: 'é',
    files: [{ path: 'input/table.csv', content_base64: content.toBase64() }],
    outputs: ['output/plot.png'],
  };
  const key = await admitJob(store, { tenant: freshTenant(), requested_spec });
  await store.finish(finishOf(key));
  const receipt: unknown = JSON.parse((await store.job(key))?.receipt_json ?? '');
  const { requirements, limits, outputs, runtime } = requested_spec;
  expect(receipt).toMatchObject({
    code_sha256: sha256Hex(requested_spec.code),
    stdin_sha256: sha256Hex('é'),
    policy_sha256: sha256Hex(canonicalJson({ requirements, limits, outputs, runtime, allow_network: false })),
    requested_limits: limits,
    input_artifacts: [{ path: 'input/table.csv', size_bytes: 8, sha256: sha256Hex(content) }],
  });
});
