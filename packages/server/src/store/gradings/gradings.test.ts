import { afterAll, beforeAll, expect, test } from 'vitest';
import type { GradingAdmission, GradingKey } from '../records/gradings.ts';
import type { JobKey } from '../records/rows.ts';
import { admission, at, choice, finishOf, newKey, SPEC, startOf, TestStore } from '../store.fixture.ts';

let testStore: TestStore;
beforeAll(async () => {
  testStore = await TestStore.open();
});
afterAll(() => testStore[Symbol.asyncDispose]());

let made = 0;
const freshTenant = () => `tenant-${++made}`;

function gradingOf(tenant: string, changes: Partial<GradingAdmission> = {}): GradingAdmission {
  const part = { head: '{}', content: '{}' };
  return {
    tenant,
    grading_id: `grading_${++made}`,
    principal: 'p',
    created_at: at(made),
    common: '{"a":"\\u0000"}',
    programs: [part, part],
    tests: [part],
    blobs: [],
    held: [],
    idempotency: null,
    queueMax: 1000,
    tenantQueueMax: 1000,
    ...changes,
  };
}

const key = ({ tenant, grading_id }: GradingKey) => ({ tenant, grading_id });
const graded = ({ grading_id }: GradingKey, name = 'test 0', attempt = 1) => ({
  grading_id,
  program: 0,
  name,
  attempt,
});

/** A grading's job, queued. */
async function madeJob(grading: GradingKey, name?: string): Promise<JobKey> {
  const job = newKey(grading.tenant);
  expect(await testStore.store.admit(admission({ ...job, graded: graded(grading, name) }))).toMatchObject({
    kind: 'created',
  });
  return job;
}

test('a job of a grading is made once, and is found by a second request', async () => {
  const { store } = testStore;
  const grading = gradingOf(freshTenant());
  expect(await store.admitGrading(grading)).toMatchObject({ kind: 'created' });
  const { job_id } = await madeJob(grading);
  const again = await store.admit(admission({ ...newKey(grading.tenant), graded: graded(grading) }));
  expect(again).toMatchObject({ kind: 'replayed', job: { job_id } });
  expect((await store.gradingWork(key(grading)))?.jobs).toEqual([
    { program: 0, name: 'test 0', attempt: 1, job_id, is_ended: false },
  ]);
  expect(await store.gradingWork(key(grading))).toMatchObject({
    common: grading.common,
    statuses: ['waiting', 'waiting'],
  });
});

test('a grading that is being cancelled or has ended makes no more jobs', async () => {
  const { store } = testStore;
  const grading = gradingOf(freshTenant());
  await store.admitGrading(grading);
  expect(await store.requestGradingCancel(key(grading))).toBe('requested');
  const refused = () => store.admit(admission({ ...newKey(grading.tenant), graded: graded(grading) }));
  expect(await refused()).toEqual({ kind: 'grading_over' });
  const end = { ...key(grading), status: 'cancelled', ended: '{"problem":null}', held: [], at: at(9) } as const;
  expect(await store.endProgram({ ...end, program: 0 })).toBe(false);
  expect(await store.endProgram({ ...end, program: 0 })).toBe(false);
  expect(await store.endProgram({ ...end, program: 1 })).toBe(true);
  expect(await store.endProgram({ ...end, program: 1 })).toBe(true);
  expect(await refused()).toEqual({ kind: 'grading_over' });
  expect(await store.requestGradingCancel(key(grading))).toBe('already_terminal');
  expect((await store.grading(key(grading)))?.row).toMatchObject({ status: 'cancelled', finished_at: at(9) });
  const page = await store.gradingEvents({ ...key(grading), after: 0, limit: 9 });
  expect(page?.items.map(({ seq, kind }) => [seq, kind])).toEqual([
    [1, 'program'],
    [2, 'program'],
    [3, 'finished'],
  ]);
  expect(page?.isComplete).toBe(true);
});

test('the end of a job is reported to its grading once', async () => {
  const { store } = testStore;
  const grading = gradingOf(freshTenant());
  await store.admitGrading(grading);
  const { job_id } = await madeJob(grading);
  const end = {
    ...key(grading),
    ...graded(grading),
    job_id,
    test: 'a',
    terminal_reason: 'exited',
    at: at(9),
    isRun: true,
  };
  await store.endGradedJob(end);
  await store.endGradedJob(end);
  expect((await store.gradingEvents({ ...key(grading), after: 0, limit: 9 }))?.items).toHaveLength(1);
  expect((await store.grading(key(grading)))?.row.runs_ended).toBe(1);
  const program = { ...key(grading), program: 0, status: 'judged', ended: '{}', held: [], at: at(9) } as const;
  const { job_id: judge } = await madeJob(grading, 'judge');
  await store.endProgram({ ...program, job: { ...end, name: 'judge', job_id: judge, isRun: false } });
  const { items = [] } = (await store.gradingEvents({ ...key(grading), after: 0, limit: 9 })) ?? {};
  expect(items.map(({ kind, data }) => data.name ?? kind).slice(0, 3)).toEqual(['test 0', 'judge', 'program']);
});

test('a grading counts as one job in the queue until it has ended, however many jobs it has', async () => {
  const { store } = testStore;
  const tenant = freshTenant();
  const grading = gradingOf(tenant, { programs: [{ head: '{}', content: '{}' }] });
  await store.admitGrading(grading);
  for (const name of ['test 0', 'test 1', 'test 2']) await madeJob(grading, name);
  const plain = (tenantQueueMax: number) => store.admit(admission({ ...newKey(tenant), tenantQueueMax }));
  expect(await plain(1)).toEqual({ kind: 'full', of: 'tenant' });
  expect(await plain(2)).toMatchObject({ kind: 'created' });
  expect(await store.admitGrading(gradingOf(tenant, { tenantQueueMax: 2 }))).toEqual({ kind: 'full', of: 'tenant' });
  await store.endProgram({ ...key(grading), program: 0, status: 'failed', ended: '{}', held: [], at: at(9) });
  expect(await store.admitGrading(gradingOf(tenant, { tenantQueueMax: 2 }))).toMatchObject({ kind: 'created' });
});

test("a node runs a bounded number of gradings' jobs, and prefers jobs without a grading", async () => {
  await using own = await TestStore.open();
  const { store } = own;
  const grading = gradingOf('acme');
  await store.admitGrading(grading);
  const tests: string[] = [];
  for (const name of ['test 0', 'test 1', 'test 2']) {
    const job = newKey('acme');
    await store.admit(admission({ ...job, graded: graded(grading, name), created_at: at(1) }));
    tests.push(job.job_id);
  }
  const plain = newKey('acme');
  await store.admit(admission({ ...plain, created_at: at(2) }));
  const chosen = async (asked: number) => {
    const answer = await store.queuedJobs(choice({ exclude: [], limit: 9, tests: asked }));
    if (store.fleet) await store.fleet.releaseJobs(answer.jobs);
    return { ...answer, jobs: answer.jobs.map(({ job_id }) => job_id) };
  };
  expect(await chosen(1)).toMatchObject({ jobs: [expect.any(String), plain.job_id], isEmpty: false });
  expect(await chosen(0)).toMatchObject({ jobs: [plain.job_id], isEmpty: false });
  expect((await chosen(9)).jobs).toHaveLength(4);
});

test('a grading keeps its uploads and jobs until it has ended, and its own rows are removed after the retention', {
  tags: ['Gradings-15'],
}, async () => {
  await using own = await TestStore.open();
  const { store } = own;
  const upload = { tenant: 'acme', blob_id: 'b', sha256: 'f'.repeat(64), size_bytes: 1, at: at(0) };
  await store.beginUpload({ ...upload, blobsMax: 9, bytesMax: 9 });
  await store.addPiece({ tenant: 'acme', blob_id: 'b', position: 0, content: new Uint8Array(1) });
  await store.completeUpload(upload);
  const grading = gradingOf('acme', { blobs: [upload.sha256], programs: [{ head: '{}', content: '{}' }] });
  expect(await store.admitGrading(grading)).toMatchObject({ kind: 'created' });
  const job = newKey('acme');
  await store.admit(admission({ ...job, graded: graded(grading), requested_spec: SPEC }));
  await store.start(startOf(job));
  await store.finish(finishOf(job));
  const unused = () => store.removeUnusedBlobs({ unusedSince: at(99_999), begunBefore: at(99_999), limit: 9 });
  const old = () => store.deleteEnded({ before: at(99_999_999), limit: 9, unattested: 'removed' });
  const oldGradings = () => store.deleteEndedGradings({ before: at(99_999_999), limit: 9 });
  expect([await unused(), await old(), await oldGradings()]).toEqual([0, 0, 0]);
  await store.endProgram({ ...key(grading), program: 0, status: 'judged', ended: '{}', held: [], at: at(9) });
  expect([await unused(), await old(), await oldGradings()]).toEqual([1, 1, 1]);
  expect(await store.grading(key(grading))).toBeNull();
});

test('the end of a grading removes the upload of an expected output, unless a job still needs the upload', async () => {
  const { store } = testStore;
  const tenant = freshTenant();
  const uploaded = async (blob_id: string, sha256: string) => {
    const upload = { tenant, blob_id, sha256, size_bytes: 1, at: at(0) };
    await store.beginUpload({ ...upload, blobsMax: 9, bytesMax: 9 });
    await store.completeUpload(upload);
  };
  const [free, named] = ['a'.repeat(64), 'b'.repeat(64)];
  for (const sha256 of [free, named]) {
    await uploaded(sha256, sha256);
    await uploaded(`copy-${sha256}`, `held:${sha256}`);
  }
  const files = [{ path: 'input/a', blob: `sha256:${named}` }];
  await store.admit(admission({ ...newKey(tenant), requested_spec: { ...SPEC, files } }));
  expect(await store.admitGrading(gradingOf(tenant, { held: [free, named] }))).toMatchObject({ kind: 'created' });
  expect(await store.blob({ tenant, sha256: free })).toBeNull();
  expect(await store.blob({ tenant, sha256: named })).not.toBeNull();
});

test('an idempotency key is used by one grading of its tenant', async () => {
  const { store } = testStore;
  const [tenant, other] = [freshTenant(), freshTenant()];
  const idempotency = { key: 'k', spec_sha256: 'a'.repeat(64) };
  const first = gradingOf(tenant, { idempotency });
  expect(await store.admitGrading(first)).toMatchObject({ kind: 'created' });
  const { grading_id } = first;
  expect(await store.admitGrading(gradingOf(tenant, { idempotency }))).toMatchObject({
    kind: 'replayed',
    grading: { grading_id },
  });
  const changed = { key: 'k', spec_sha256: 'b'.repeat(64) };
  expect(await store.admitGrading(gradingOf(tenant, { idempotency: changed }))).toEqual({ kind: 'key_reused' });
  expect(await store.admitGrading(gradingOf(other, { idempotency: changed }))).toMatchObject({ kind: 'created' });
});
