/** Two jobs whose programs talk to each other: they take one turn in the queue, and change together in one transaction. */
import { afterAll, beforeAll, expect, test } from 'vitest';
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
import type { Store } from '../store.ts';

let testStore: TestStore;
let store: Store;
beforeAll(async () => {
  testStore = await TestStore.open();
  store = testStore.store;
});
afterAll(() => testStore[Symbol.asyncDispose]());

let tenants = 0;
const freshTenant = () => `pairs-${++tenants}`;

const OTHER = { ...SPEC, language: 'bash', limits: { ...SPEC.limits, mem_mb: 400 } } as const;

function pair(changes: Partial<AdmitInput> = {}): AdmitInput & { interactor: NonNullable<AdmitInput['interactor']> } {
  const input = admission({ tenant: freshTenant(), ...changes });
  const { job_id } = newKey(input.tenant);
  const requested_spec = { interaction: { peer: job_id, role: 'program' as const }, ...input.requested_spec };
  const interactor = {
    job_id,
    requested_spec: { interaction: { peer: input.job_id, role: 'interactor' as const }, ...OTHER },
  };
  return { ...input, requested_spec, interactor };
}

const peerOf = ({ tenant, interactor }: ReturnType<typeof pair>): JobKey => ({ tenant, job_id: interactor.job_id });
const both = (input: ReturnType<typeof pair>): readonly JobKey[] => [input, peerOf(input)];

/** The tenant's jobs that a dispatcher would be given. */
async function chosen(tenant: string, asked: Partial<Parameters<typeof choice>[0]> = {}) {
  const { jobs } = await store.queuedJobs(choice({ exclude: [], limit: 5000, ...asked }));
  return jobs.filter((job) => job.tenant === tenant);
}

function startBoth(input: ReturnType<typeof pair>): Promise<boolean> {
  const { job_id } = input.interactor;
  return store.start(startOf(input, { interactor: { job_id, execution: EXECUTION } }));
}

test('both jobs of a pair are queued, and chosen together', { tags: ['Interaction-6'] }, async () => {
  const input = pair();
  expect((await store.admit(input)).kind).toBe('created');
  expect(await store.currentJobs(input.tenant)).toMatchObject({ queued: 2, running: 0 });
  for (const key of both(input)) expect(await store.job(key)).toMatchObject({ status: 'queued' });
  const [job, ...more] = await chosen(input.tenant);
  expect(more).toEqual([]);
  expect(job).toMatchObject({ job_id: input.job_id, language: 'python', runtime: null, mem_mb: 400 });
  expect(job?.peer).toMatchObject({ job_id: input.interactor.job_id, language: 'bash', runtime: null, mem_mb: 400 });
});

test('a pair counts as two jobs in the queue, and a full queue takes neither', {
  tags: ['Interaction-6'],
}, async () => {
  const input = pair({ tenantQueueMax: 1 });
  expect(await store.admit(input)).toEqual({ kind: 'full', of: 'tenant' });
  for (const key of both(input)) expect(await store.job(key)).toBeNull();
  expect((await store.admit({ ...input, tenantQueueMax: 2 })).kind).toBe('created');
});

test('both jobs of a pair start, or neither does', { tags: ['Interaction-5'] }, async () => {
  const input = pair();
  await store.admit(input);
  expect(await startBoth({ ...input, interactor: { ...input.interactor, job_id: newKey().job_id } })).toBe(false);
  for (const key of both(input)) expect(await store.job(key)).toMatchObject({ status: 'queued' });
  expect(await startBoth(input)).toBe(true);
  for (const key of both(input)) expect(await store.job(key)).toMatchObject({ status: 'running' });
  expect(await store.currentJobs(input.tenant)).toMatchObject({ queued: 0, running: 2 });
  expect(await chosen(input.tenant)).toEqual([]);
  for (const key of both(input)) await store.finish(finishOf(key));
  expect(await store.currentJobs(input.tenant)).toMatchObject({ queued: 0, running: 0 });
});

test('cancelling one job of a pair ends both if they wait, and requests the end of both if they run', {
  tags: ['Interaction-5'],
}, async () => {
  for (const which of [0, 1]) {
    const [waiting, running] = [pair(), pair()];
    for (const input of [waiting, running]) await store.admit(input);
    await startBoth(running);
    const cancel = (input: typeof waiting) =>
      store.requestCancel({ ...(both(input)[which] as JobKey), principal: 'p', at: at(20) });
    expect(await cancel(waiting)).toEqual({ kind: 'cancelled', peer: both(waiting)[1 - which]?.job_id });
    expect(await cancel(running)).toMatchObject({ kind: 'running', peer: both(running)[1 - which]?.job_id });
    for (const key of both(waiting))
      expect(await store.job(key)).toMatchObject({ status: 'cancelled', cancellation_requested: true });
    for (const key of both(running))
      expect(await store.job(key)).toMatchObject({ status: 'running', cancellation_requested: true });
    expect(await store.currentJobs(waiting.tenant)).toMatchObject({ queued: 0, running: 0 });
    expect(await chosen(waiting.tenant)).toEqual([]);
    for (const key of both(running)) await store.finish(finishOf(key));
  }
});

test('if one job of a pair ends in the queue, the other is chosen alone', { tags: ['Interaction-5'] }, async () => {
  const input = pair();
  await store.admit(input);
  await store.finish(finishOf(peerOf(input), { status: 'error', terminal_reason: 'internal_error' }));
  const [job] = await chosen(input.tenant);
  expect(job).toMatchObject({ job_id: input.job_id, runtime: null });
  expect(job).not.toHaveProperty('peer');
  await store.finish(finishOf(input));
  expect(await chosen(input.tenant)).toEqual([]);
});

test('a pair waits for two free slots, and nothing overtakes it', { tags: ['Interaction-6'] }, async () => {
  await using own = await TestStore.open();
  const input = pair();
  await own.store.admit(input);
  await admitJob(own.store, { tenant: input.tenant, created_at: at(5) });
  const ids = async (asked: Partial<Parameters<typeof choice>[0]>) =>
    (await own.store.queuedJobs(choice({ exclude: [], limit: 1, ...asked }))).jobs.map(({ job_id }) => job_id);
  expect(await ids({ slots: 2 })).toEqual([]);
  expect(await ids({ slots: 2, limit: 2 })).toEqual([input.job_id]);
});

test('a tenant that may hold only one slot may still start a pair while it holds none', {
  tags: ['Interaction-6'],
}, async () => {
  await using own = await TestStore.open();
  const input = pair();
  await own.store.admit(input);
  const count = async (held: number, tenantSlots: number) => {
    const asked = { slots: 4, limit: 4, held: new Map([[input.tenant, held]]), tenantSlots };
    return (await own.store.queuedJobs(choice({ exclude: [], ...asked }))).jobs.length;
  };
  expect(await count(1, 2)).toBe(0);
  expect(await count(2, 2)).toBe(0);
  expect(await count(0, 1)).toBe(1);
});

test('repeating the idempotency key of a pair returns both jobs, and the key covers both programs', {
  tags: ['Interaction-7'],
}, async () => {
  const idempotency = { key: 'pair', spec_sha256: 'a'.repeat(64) };
  const input = pair({ idempotency });
  await store.admit(input);
  const again = pair({ tenant: input.tenant, idempotency });
  expect(await store.admit(again)).toMatchObject({
    kind: 'replayed',
    job: { job_id: input.job_id },
    peer: input.interactor.job_id,
  });
  const digest = (interactor?: typeof SPEC) =>
    store.specDigest({ tenant: input.tenant, spec: SPEC, ...(interactor && { interactor }) });
  expect(new Set([await digest(), await digest(SPEC), await digest(OTHER)]).size).toBe(3);
});

test('the receipt of each job in a pair names the other job, with the observations of the interaction', {
  tags: ['Interaction-8'],
}, async () => {
  const input = pair();
  await store.admit(input);
  await startBoth(input);
  const interaction = { stdin: { bytes_delivered: 3, raw_sha256: 'b'.repeat(64) }, end: 'second' } as const;
  await store.finish(finishOf(input, { interaction }));
  await store.finish(finishOf(peerOf(input)));
  const receipts = await Promise.all(
    both(input).map(async (key) => JSON.parse((await store.job(key))?.receipt_json ?? '')),
  );
  expect(receipts.map((receipt: { interaction: object }) => receipt.interaction)).toEqual([
    { peer: input.interactor.job_id, role: 'program', ...interaction },
    { peer: input.job_id, role: 'interactor' },
  ]);
});
