import { sha256Hex } from '@vouchbox/evidence';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { copyNameOf } from '../blobs/blobs-named.ts';
import type { JobKey } from '../records/rows.ts';
import { admission, admitJob, at, finishOf, runJob, SPEC, startOf, TestStore } from '../store.fixture.ts';
import type { Store } from '../store.ts';
import type { InputsAsked, NamingFile } from './inputs.ts';

let testStore: TestStore;
let store: Store;
beforeAll(async () => {
  testStore = await TestStore.open();
  store = testStore.store;
});
afterAll(() => testStore[Symbol.asyncDispose]());

let made = 0;

function newContent(): Uint8Array {
  return Buffer.from(`content ${++made}`);
}

/** A job that ended with one output. */
async function madeBy(content: Uint8Array, { tenant = 'acme', path = 'output/a', time = 5 } = {}): Promise<JobKey> {
  const key = await runJob(store, { tenant });
  const artifacts = [{ path, size_bytes: content.length, sha256: sha256Hex(content), content }];
  await store.finish(finishOf(key, { artifacts, finished_at: at(time) }));
  return key;
}

const blobOf = (content: Uint8Array) => `sha256:${sha256Hex(content)}`;
const from = ({ job_id }: JobKey, path = 'output/a') => ({ path: 'input/a', from: { job_id, path } });
const ask = (files: readonly NamingFile[], asked: Partial<InputsAsked> = {}) =>
  store.inputs({ tenant: 'acme', key: null, mayReadJobs: true, files, ...asked });

/** Copies an output as admission does, and returns the name by which it is found. */
async function copied(content: Uint8Array, { tenant = 'acme', time = 0 } = {}): Promise<string> {
  const key = { tenant, blob_id: `copy-${++made}` };
  const sha256 = copyNameOf(sha256Hex(content));
  await store.beginUpload({ ...key, sha256, size_bytes: 9, at: at(time), blobsMax: 1000, bytesMax: 2 ** 40 });
  await store.addPiece({ ...key, position: 0, content: content.slice() });
  expect(await store.completeUpload({ ...key, size_bytes: content.length, at: at(time) })).toBe('stored');
  return sha256;
}

describe('an output that a submission uses as input', { tags: ['Inputs-1', 'Inputs-3'] }, () => {
  test('is found by its job and its path, and by its digest', async () => {
    const content = newContent();
    const key = await madeBy(content);
    const input = { blob: blobOf(content), size_bytes: content.length, from: { job_id: key.job_id, path: 'output/a' } };
    expect(await ask([from(key), { path: 'input/b', blob: blobOf(content) }])).toEqual([input, input]);
    expect(await ask([{ ...from(key), blob: blobOf(content) }])).toEqual([input]);
  });

  test('is not found with another path, tenant or digest, nor before its job has ended', async () => {
    const content = newContent();
    const key = await madeBy(content);
    const running = await runJob(store);
    const byDigest = { path: 'input/a', blob: blobOf(content) };
    for (const file of [from(key, 'output/b'), from(running), { ...from(key), blob: blobOf(newContent()) }])
      expect(await ask([file])).toEqual([null]);
    for (const file of [from(key), byDigest]) expect(await ask([file], { tenant: 'other' })).toEqual([null]);
    expect(await ask([byDigest], { mayReadJobs: false })).toEqual([null]);
  });

  test('is found in the latest of several jobs that made it', async () => {
    const content = newContent();
    const [, second] = [await madeBy(content), await madeBy(content)];
    const [found] = await ask([{ path: 'input/a', blob: blobOf(content) }]);
    expect(found?.from?.job_id).toBe(second.job_id);
  });

  test('is not found once its job is removed, except by a repetition of an earlier submission', async () => {
    const content = newContent();
    const key = await madeBy(content, { time: 1 });
    const file = { ...from(key), blob: blobOf(content) };
    await copied(content);
    const idempotency = { key: 'again', spec_sha256: 'a'.repeat(64) };
    await admitJob(store, { requested_spec: { ...SPEC, files: [file] }, idempotency });
    await store.deleteEnded({ before: at(2), limit: 100, unattested: 'removed' });
    const byDigest = { path: 'input/a', blob: blobOf(content) };
    for (const named of [from(key), byDigest]) {
      expect(await ask([named])).toEqual([null]);
      expect(await ask([named], { key: 'again' })).toMatchObject([{ blob: blobOf(content), from: file.from }]);
      expect(await ask([named], { key: 'another' })).toEqual([null]);
      expect(await ask([named], { key: 'again', mayReadJobs: false })).toEqual([null]);
      expect(await ask([named], { key: 'again', tenant: 'other' })).toEqual([null]);
    }
    expect(await ask([{ ...from(key), path: 'input/b' }], { key: 'again' })).toEqual([null]);
  });
});

describe('the store’s copy of an output', { tags: ['Inputs-5'] }, () => {
  const remove = (begunBefore: number) =>
    store.removeUnusedBlobs({ unusedSince: at(-1_000_000), begunBefore: at(begunBefore), limit: 100 });

  test('is not found as a blob by its digest', async () => {
    const content = newContent();
    const sha256 = await copied(content);
    expect(await store.blob({ tenant: 'acme', sha256: sha256Hex(content) })).toBeNull();
    expect(await ask([{ path: 'input/a', blob: blobOf(content) }])).toEqual([null]);
    expect(await store.blob({ tenant: 'acme', sha256 })).not.toBeNull();
  });

  test('is kept until the job that uses it has ended, and is then removed, unlike an upload', async () => {
    const content = newContent();
    const producer = await madeBy(content);
    const sha256 = await copied(content, { time: 10 });
    const upload = { tenant: 'acme', blob_id: `upload-${++made}` };
    const kept = sha256Hex(newContent());
    await store.beginUpload({ ...upload, sha256: kept, size_bytes: 0, at: at(10), blobsMax: 1000, bytesMax: 2 ** 40 });
    await store.completeUpload({ ...upload, size_bytes: 0, at: at(10) });
    const file = { ...from(producer), blob: blobOf(content) };
    const key = await admitJob(store, { requested_spec: { ...SPEC, files: [file] }, created_at: at(10) });
    await store.start(startOf(key));
    await remove(5000);
    expect(await store.blob({ tenant: 'acme', sha256 })).not.toBeNull();
    await store.finish(finishOf(key));
    await remove(10);
    expect(await store.blob({ tenant: 'acme', sha256 })).not.toBeNull();
    await remove(5000);
    expect(await store.blob({ tenant: 'acme', sha256 })).toBeNull();
    expect(await store.blob({ tenant: 'acme', sha256: kept })).not.toBeNull();
    expect((await store.job(key))?.receipt_json).toContain(sha256Hex(content));
  });

  test('must exist when the submission is accepted; otherwise no job is made', async () => {
    const content = newContent();
    const file = { ...from(await madeBy(content)), blob: blobOf(content) };
    const input = admission({ requested_spec: { ...SPEC, files: [file] } });
    expect(await store.admit(input)).toEqual({ kind: 'blob_unavailable' });
    expect(await store.jobSummary(input)).toBeNull();
  });
});

test('content has the same digest whether it is sent inline, uploaded or taken from an output', {
  tags: ['Inputs-6'],
}, async () => {
  const content = newContent();
  const file = { ...from(await madeBy(content)), blob: blobOf(content) };
  const inline = { path: 'input/a', content_base64: Buffer.from(content).toString('base64') };
  const digests = (files: (typeof SPEC)['files'], filesBy: 'content' | 'digests') =>
    store.specDigest({ tenant: 'acme', spec: { ...SPEC, files }, filesBy });
  expect(await digests([file], 'digests')).toBe(await digests([inline], 'digests'));
  expect(await digests([file], 'content')).toBeNull();
  await copied(content);
  expect(await digests([file], 'content')).toBe(await digests([inline], 'content'));
});
