import { randomUUID } from 'node:crypto';
import { sha256Hex } from '@vouchbox/evidence';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { admission, admitJob, at, finishOf, SPEC, startOf, TestStore } from '../store.fixture.ts';
import type { Store } from '../store.ts';
import type { UploadKey } from './blobs.ts';

let testStore: TestStore;
let store: Store;
beforeAll(async () => {
  testStore = await TestStore.open();
  store = testStore.store;
});
afterAll(() => testStore[Symbol.asyncDispose]());

const BOUNDS = { blobsMax: 1000, bytesMax: 2 ** 40 };
let made = 0;

/** Bytes that no other test has. */
function newContent(length = 3): Uint8Array {
  const content = new Uint8Array(length);
  new DataView(content.buffer).setUint16(0, ++made);
  return content;
}

async function begun(content: Uint8Array, { tenant = 'acme', time = 0, ...bounds } = {}): Promise<UploadKey> {
  const key = { tenant, blob_id: randomUUID() };
  const answer = await store.beginUpload({
    ...key,
    sha256: sha256Hex(content),
    size_bytes: content.length,
    at: at(time),
    ...BOUNDS,
    ...bounds,
  });
  expect(answer).toBe('begun');
  return key;
}

/** Stores content as a blob, and returns its digest. */
async function stored(content: Uint8Array, { tenant = 'acme', time = 0 } = {}): Promise<string> {
  const key = await begun(content, { tenant, time });
  expect(await store.addPiece({ ...key, position: 0, content: content.slice() })).toBe(true);
  expect(await store.completeUpload({ ...key, size_bytes: content.length, at: at(time) })).toBe('stored');
  return sha256Hex(content);
}

const blobOf = (sha256: string, tenant = 'acme') => store.blob({ tenant, sha256 });
const remove = (unused: number, begunBefore = 0) =>
  store.removeUnusedBlobs({ unusedSince: at(unused), begunBefore: at(begunBefore), limit: 100 });
const naming = (sha256: string) => ({ ...SPEC, files: [{ path: 'input/a', blob: `sha256:${sha256}` }] });

test('an upload is a blob once it is complete, and not before', async () => {
  const content = newContent();
  const key = await begun(content);
  await store.addPiece({ ...key, position: 0, content: content.slice(0, 2) });
  await store.addPiece({ ...key, position: 1, content: content.slice(2) });
  expect(await blobOf(sha256Hex(content))).toBeNull();
  await store.completeUpload({ ...key, size_bytes: 3, at: at(1) });
  expect(await blobOf(sha256Hex(content))).toEqual({ blob_id: key.blob_id, size_bytes: 3 });
  const pieces = [0, 1, 2].map((position) => store.blobPiece({ ...key, position }));
  expect((await Promise.all(pieces)).map((piece) => piece && [...piece])).toEqual([
    [...content.slice(0, 2)],
    [...content.slice(2)],
    null,
  ]);
});

test('a piece that fills its buffer is moved to the store, and a piece that is part of a larger buffer is copied', async () => {
  const [piece, more] = [newContent(), new Uint8Array([...newContent(), 0])];
  const key = await begun(piece);
  await store.addPiece({ ...key, position: 0, content: piece });
  await store.addPiece({ ...key, position: 1, content: more.subarray(0, 3) });
  expect([piece.length, more.length]).toEqual([0, 4]);
});

test('the second upload of the same content is dropped, and the blob counts as newly used', async () => {
  const content = newContent();
  const [first, second] = [await begun(content), await begun(content)];
  for (const key of [first, second]) await store.addPiece({ ...key, position: 0, content: content.slice() });
  expect(await store.completeUpload({ ...first, size_bytes: 3, at: at(1) })).toBe('stored');
  expect(await store.completeUpload({ ...second, size_bytes: 3, at: at(500) })).toBe('known');
  expect(await store.blobPiece({ ...second, position: 0 })).toBeNull();
  await remove(500);
  expect((await blobOf(sha256Hex(content)))?.blob_id).toBe(first.blob_id);
});

test('a dropped upload takes no more pieces and cannot be completed', async () => {
  const key = await begun(newContent());
  await store.dropUpload(key);
  expect(await store.addPiece({ ...key, position: 0, content: newContent() })).toBe(false);
  expect(await store.completeUpload({ ...key, size_bytes: 3, at: at(0) })).toBe('gone');
  expect(await store.blobPiece({ ...key, position: 0 })).toBeNull();
});

test('an upload is dropped a few pieces at a time, from its end', { tags: ['CROWD-03'] }, async () => {
  const key = await begun(newContent());
  for (let position = 0; position < 20; position++) await store.addPiece({ ...key, position, content: newContent() });
  const left = async () => {
    const pieces = await Promise.all(
      Array.from({ length: 20 }, (_, position) => store.blobPiece({ ...key, position })),
    );
    return pieces.filter((piece) => piece !== null).length;
  };
  expect([await store.dropUpload(key), await left()]).toEqual([false, 12]);
  expect([await store.dropUpload(key), await left()]).toEqual([false, 4]);
  expect([await store.dropUpload(key), await left()]).toEqual([true, 0]);
  expect(await store.completeUpload({ ...key, size_bytes: 3, at: at(0) })).toBe('gone');
});

test('dropping an upload does not drop a complete blob', async () => {
  const sha256 = await stored(newContent());
  await store.dropUpload({ tenant: 'acme', blob_id: (await blobOf(sha256))?.blob_id ?? '' });
  expect(await blobOf(sha256)).not.toBeNull();
});

test('a blob belongs only to its tenant', async () => {
  const sha256 = await stored(newContent());
  const blob_id = (await blobOf(sha256))?.blob_id ?? '';
  expect(await blobOf(sha256, 'other')).toBeNull();
  expect(await store.useBlob({ tenant: 'other', sha256, at: at(0) })).toBeNull();
  expect(await store.blobPiece({ tenant: 'other', blob_id, position: 0 })).toBeNull();
  const files = naming(sha256).files;
  expect(await store.inputs({ tenant: 'other', files, key: null, mayReadJobs: true })).toEqual([null]);
  const input = admission({ tenant: 'other', requested_spec: naming(sha256) });
  expect(await store.admit(input)).toEqual({ kind: 'blob_unavailable' });
  expect(await store.jobSummary(input)).toBeNull();
});

test('uploads in progress count towards the limit of a tenant', async () => {
  const tenant = 'bounded';
  const bounds = { blobsMax: 2, bytesMax: 10 };
  const key = await begun(newContent(6), { tenant, ...bounds });
  const next = { tenant, blob_id: randomUUID(), sha256: 'a', at: at(0), ...bounds };
  expect(await store.beginUpload({ ...next, size_bytes: 5 })).toBe('full');
  expect(await store.beginUpload({ ...next, size_bytes: 4 })).toBe('begun');
  expect(await store.beginUpload({ ...next, blob_id: randomUUID(), size_bytes: 0 })).toBe('full');
  await store.dropUpload(key);
  expect(await store.beginUpload({ ...next, blob_id: randomUUID(), size_bytes: 6 })).toBe('begun');
});

test('a blob that no recent job used is removed with its pieces', { tags: ['Blobs-9'] }, async () => {
  const [old, used, fresh] = [await stored(newContent()), await stored(newContent()), newContent()];
  await stored(fresh, { time: 1000 });
  await store.useBlob({ tenant: 'acme', sha256: used, at: at(1000) });
  const blob_id = (await blobOf(old))?.blob_id ?? '';
  expect(await remove(1000)).toBeGreaterThan(0);
  expect(await blobOf(old)).toBeNull();
  expect(await store.blobPiece({ tenant: 'acme', blob_id, position: 0 })).toBeNull();
  expect(await blobOf(used)).not.toBeNull();
  expect(await blobOf(sha256Hex(fresh))).not.toBeNull();
});

test('a job keeps its blobs until it has ended', { tags: ['Blobs-9'] }, async () => {
  const sha256 = await stored(newContent());
  const key = await admitJob(store, { requested_spec: naming(sha256), created_at: at(10) });
  await remove(5000);
  expect(await blobOf(sha256)).not.toBeNull();
  await store.start(startOf(key));
  await remove(5000);
  expect(await blobOf(sha256)).not.toBeNull();
  await store.finish(finishOf(key));
  await remove(5000);
  expect(await blobOf(sha256)).toBeNull();
  expect((await store.job(key))?.receipt_json).toContain(sha256);
});

test("a submission that uses a blob restarts the blob's retention", { tags: ['Blobs-9'] }, async () => {
  const sha256 = await stored(newContent());
  const key = await admitJob(store, { requested_spec: naming(sha256), created_at: at(6000) });
  await store.start(startOf(key));
  await store.finish(finishOf(key));
  await remove(6000);
  expect(await blobOf(sha256)).not.toBeNull();
});

test('a removed job does not remove a blob that other jobs name', async () => {
  const sha256 = await stored(newContent(), { time: 9000 });
  const ended = await admitJob(store, { requested_spec: naming(sha256), created_at: at(9000) });
  await store.start(startOf(ended));
  await store.finish(finishOf(ended));
  await store.deleteEnded({ before: at(8000), limit: 100, unattested: 'removed' });
  expect(await store.jobSummary(ended)).toBeNull();
  expect(await blobOf(sha256)).not.toBeNull();
});

test('an upload that was begun before the given time and not completed is removed', {
  tags: ['Blobs-10'],
}, async () => {
  const content = newContent();
  const key = await begun(content, { time: 100 });
  await store.addPiece({ ...key, position: 0, content: content.slice() });
  await remove(0, 100);
  expect(await store.blobPiece({ ...key, position: 0 })).not.toBeNull();
  await remove(0, 101);
  expect(await store.blobPiece({ ...key, position: 0 })).toBeNull();
});

test('a file that could be sent inline has the digest of an inline file, and a larger one has the digest of its blob', async () => {
  const content = newContent(90);
  const sha256 = await stored(content);
  const content_base64 = Buffer.from(content).toString('base64');
  const digestOf = (files: (typeof SPEC)['files']) => store.specDigest({ tenant: 'acme', spec: { ...SPEC, files } });
  const [uploaded, inline] = [
    { path: 'input/a', blob: `sha256:${sha256}` },
    { path: 'input/a', content_base64 },
  ];
  expect(await digestOf([uploaded])).toBe(await digestOf([inline]));
  expect(await digestOf([{ ...uploaded, blob: `sha256:${'0'.repeat(64)}` }])).toBeNull();
  const large = { path: 'input/b', blob: `sha256:${await stored(newContent(2 ** 21 + 1))}` };
  const other = { path: 'input/b', blob: `sha256:${await stored(newContent(2 ** 21 + 1))}` };
  expect(await digestOf([uploaded, large])).toBe(await digestOf([inline, large]));
  expect(await digestOf([uploaded, large])).not.toBe(await digestOf([uploaded, other]));
});

test('everything that was acknowledged is there when the store is opened again', async () => {
  const [content, half] = [newContent(), newContent()];
  const sha256 = await stored(content, { time: 20_000 });
  const key = await begun(half, { time: 20_000 });
  await store.addPiece({ ...key, position: 0, content: half.slice() });
  store = await testStore.reopen();
  const found = await blobOf(sha256);
  const piece = await store.blobPiece({ tenant: 'acme', blob_id: found?.blob_id ?? '', position: 0 });
  expect(piece && [...piece]).toEqual([...content]);
  expect(await blobOf(sha256Hex(half))).toBeNull();
});
