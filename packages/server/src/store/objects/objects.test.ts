import { randomUUID } from 'node:crypto';
import { sha256Hex } from '@vouchbox/evidence';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobKey, StoredObject } from '../records/rows.ts';
import { at, attestationOf, finishOf, runJob, TestStore } from '../store.fixture.ts';
import type { Store } from '../store.ts';
import { movedBytesMin, resultPosition } from './content-places.ts';
import type { ContentKey } from './objects.ts';

let testStore: TestStore;
let store: Store;
beforeAll(async () => {
  testStore = await TestStore.open();
  store = testStore.store;
});
afterAll(() => testStore[Symbol.asyncDispose]());

/** Returns what a test has stored, and fails if it is not there. */
function there<T>(found: T | null | undefined): T {
  if (found === null || found === undefined) throw new Error('it is not there');
  return found;
}

let made = 0;

/** Bytes that no other test has. */
function largeContent(length = movedBytesMin): Uint8Array {
  const content = new Uint8Array(length);
  new DataView(content.buffer).setUint32(0, ++made);
  return content;
}

interface Ended {
  readonly tenant?: string;
  readonly time?: number;
}

/** A job that ended with one artifact. */
async function endedWith(content: Uint8Array, { tenant = 'acme', time = 5 }: Ended = {}): Promise<JobKey> {
  const key = await runJob(store, { tenant });
  const artifacts = [{ path: 'output/a', size_bytes: content.length, sha256: sha256Hex(content), content }];
  expect(await store.finish(finishOf(key, { artifacts, finished_at: at(time) }))).toBe(true);
  return key;
}

const artifactOf = (key: JobKey): ContentKey => ({ ...key, position: 0 });

async function isHere(key: ContentKey): Promise<boolean> {
  const here = await store.contentsHere({ bytesMin: movedBytesMin, limit: 1000 });
  return here.some(({ job_id, position }) => job_id === key.job_id && position === key.position);
}

/** Begins the object for a content, as if the bytes were to be put now. */
async function begun(key: ContentKey, time = 10): Promise<StoredObject & { isStored: boolean }> {
  const { content } = there(await store.contentHere(key));
  const object = { tenant: key.tenant, sha256: sha256Hex(content), size_bytes: content.length };
  const { object_id, isStored } = await store.beginObject({ ...object, object_id: randomUUID(), at: at(time) });
  return { ...object, object_id, isStored };
}

async function moved(key: ContentKey): Promise<StoredObject> {
  const { version } = there(await store.contentHere(key));
  const { isStored: _, ...object } = await begun(key);
  expect(await store.placeObject({ ...key, ...object, version, at: at(11) })).toBe(true);
  return object;
}

const remove = (key: JobKey, finished = 6) =>
  store.deleteEnded({ before: at(finished), limit: 100, unattested: 'removed' }).then(async () => {
    expect(await store.jobSummary(key)).toBeNull();
  });

/** The ids of condemned objects. */
async function condemned(begunBefore = 0): Promise<string[]> {
  const objects = await store.condemnObjects({ at: at(20), begunBefore: at(begunBefore), limit: 1000 });
  return objects.map(({ object_id }) => object_id);
}

test("a moved artifact leaves the store, and its object is found by the artifact's job and path", async () => {
  const content = largeContent();
  const key = artifactOf(await endedWith(content));
  expect(await isHere(key)).toBe(true);
  const object = await moved(key);
  expect(await isHere(key)).toBe(false);
  expect(await store.contentHere(key)).toBeNull();
  expect(await store.objectOf(key)).toEqual(object);
  expect(await store.objectOfArtifact({ key, path: 'output/a' })).toEqual(object);
  const piece = await store.artifactPiece({ key, path: 'output/a', offset: 0, bytes: 10 });
  expect(piece?.length ?? 0).toBe(0);
});

test('only artifacts of the given minimum size are moved, and none under 64 KiB', async () => {
  const [small, large] = [await endedWith(largeContent(movedBytesMin - 1)), await endedWith(largeContent())];
  const found = async (bytesMin: number) => {
    const here = await store.contentsHere({ bytesMin, limit: 1000 });
    return [small, large].map(({ job_id }) => here.some((content) => content.job_id === job_id));
  };
  expect(await found(1)).toEqual([false, true]);
  expect(await found(movedBytesMin)).toEqual([false, true]);
  expect(await found(movedBytesMin + 1)).toEqual([false, false]);
});

test('equal artifacts of a tenant share one object, which is removed after the last job that uses it', async () => {
  const content = largeContent();
  const [first, second] = [await endedWith(content, { time: 1 }), await endedWith(content, { time: 3 })];
  const [one, other] = [await moved(artifactOf(first)), await moved(artifactOf(second))];
  expect(other).toEqual(one);
  await remove(first, 2);
  expect(await condemned()).not.toContain(one.object_id);
  expect(await store.objectOf(artifactOf(second))).toEqual(one);
  await remove(second, 4);
  expect(await condemned()).toContain(one.object_id);
});

test('two tenants never share an object', async () => {
  const content = largeContent();
  const [ours, theirs] = [await endedWith(content), await endedWith(content, { tenant: 'umbrella' })];
  const [one, other] = [await moved(artifactOf(ours)), await moved(artifactOf(theirs))];
  expect(other.object_id).not.toBe(one.object_id);
  expect(await store.objectOf({ ...artifactOf(ours), tenant: 'umbrella' })).toBeNull();
});

test('an object that was begun and abandoned is used again when the artifact is next moved', async () => {
  const key = artifactOf(await endedWith(largeContent()));
  const left = await begun(key, 10);
  expect(await begun(key, 12)).toEqual({ ...left, isStored: false });
  expect(await condemned(11)).not.toContain(left.object_id);
});

test('an object of a removed job is marked for removal once no put can be in progress', async () => {
  const job = await endedWith(largeContent(), { time: 1 });
  const left = await begun(artifactOf(job), 10);
  await remove(job, 2);
  expect(await condemned(10)).not.toContain(left.object_id);
  expect(await condemned(11)).toContain(left.object_id);
});

test('an artifact is never read from an object marked for removal, and gets another object', async () => {
  const key = artifactOf(await endedWith(largeContent()));
  const { version } = there(await store.contentHere(key));
  const { isStored: _, ...late } = await begun(key, 10);
  expect(await condemned(11)).toContain(late.object_id);
  expect(await store.placeObject({ ...key, ...late, version, at: at(12) })).toBe(false);
  expect(await isHere(key)).toBe(true);
  expect((await moved(key)).object_id).not.toBe(late.object_id);
});

test('an object marked for removal is listed until it is forgotten, and a postponed object comes last', async () => {
  const jobs = [await endedWith(largeContent(), { time: 1 }), await endedWith(largeContent(), { time: 1 })];
  const ids: string[] = [];
  for (const job of jobs) ids.push((await moved(artifactOf(job))).object_id);
  for (const job of jobs) await remove(job, 2);
  const first = there((await condemned()).find((id) => ids.includes(id)));
  await store.postponeObject({ tenant: 'acme', object_id: first, at: at(1000) });
  expect((await condemned()).at(-1)).toBe(first);
  for (const object_id of ids) await store.forgetObject({ tenant: 'acme', object_id });
  expect((await condemned()).filter((id) => ids.includes(id))).toEqual([]);
});

test('an object in use cannot be forgotten', async () => {
  const key = artifactOf(await endedWith(largeContent()));
  const { tenant, object_id } = await moved(key);
  await store.forgetObject({ tenant, object_id });
  expect((await store.objectOf(key))?.object_id).toBe(object_id);
});

test('a result that was replaced during its move stays in the store', async () => {
  const key = await endedWith(largeContent(8));
  const receipt_sha256 = there((await store.job(key))?.receipt_sha256);
  const result_artifact = largeContent();
  const attestation = { ...attestationOf(key, receipt_sha256), result_artifact, result_size_bytes: movedBytesMin };
  await store.storeAttestation({ ...attestation, created_at: at(7) });
  const result = { ...key, position: resultPosition };
  const { version } = there(await store.contentHere(result));
  const { isStored: _, ...object } = await begun(result);
  await store.withdrawAttestation({ ...key, error: 'damaged', at: at(8) });
  await store.storeAttestation({ ...attestation, created_at: at(9) });
  expect(await store.placeObject({ ...result, ...object, version, at: at(12) })).toBe(false);
  expect(await isHere(result)).toBe(true);
});

test('the object of a withdrawn result is marked for removal', async () => {
  const key = await endedWith(largeContent(8));
  const receipt_sha256 = there((await store.job(key))?.receipt_sha256);
  const result_artifact = largeContent();
  const attestation = { ...attestationOf(key, receipt_sha256), result_artifact, result_size_bytes: movedBytesMin };
  await store.storeAttestation(attestation);
  const object = await moved({ ...key, position: resultPosition });
  const stored = await store.attestation({ key, part: 'result_artifact' });
  expect(stored).toMatchObject({ result_artifact: null, object });
  await store.withdrawAttestation({ ...key, error: 'damaged', at: at(8) });
  expect(await condemned()).toContain(object.object_id);
});

test('artifacts to move and objects to remove are counted', async () => {
  const before = await store.objectCounts({ bytesMin: movedBytesMin });
  const key = artifactOf(await endedWith(largeContent(), { time: 1 }));
  expect((await store.objectCounts({ bytesMin: movedBytesMin })).to_move).toBe(before.to_move + 1);
  await moved(key);
  await remove(key, 2);
  await condemned();
  const { to_remove } = await store.objectCounts({ bytesMin: movedBytesMin });
  expect(to_remove).toBeGreaterThan(before.to_remove);
});
