import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { sha256Hex } from '@vouchbox/evidence';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { slowTest, quickTest as test } from '../../../../../test/rig/form.ts';
import {
  changeFile,
  hasObjectServer,
  type ObjectServer,
  startObjectServer,
} from '../../../../../test/rig/object-server.ts';
import { noticeReturn } from '../../objects/notice-return.ts';
import type { ObjectStore } from '../../objects/object-store.ts';
import { openS3 } from '../../objects/s3-object-store.ts';
import { movedBytesMin } from '../../store/objects/content-places.ts';
import type { JobKey } from '../../store/records/rows.ts';
import { at, finishOf, runJob, TestStore } from '../../store/store.fixture.ts';
import type { Store } from '../../store/store.ts';
import { createLog } from '../../telemetry/log/log.ts';
import { createNudges } from '../nudges.ts';
import { createObjectContents, objectKeyOf, readObject } from '../object-contents.ts';
import { moveContents } from './move-contents.ts';
import { createObjectWork } from './object-work.ts';
import { removeObjects } from './remove-objects.ts';

const signal = new AbortController().signal;
const EVERYTHING = { before: at(1_000_000), limit: 1000, unattested: 'removed' } as const;
/** A negative time, so that an object that was begun just now already counts as abandoned. */
const abandonedMilliseconds = -60_000;

/** Requires content that a test has stored. */
function there<T>(found: T | null | undefined): T {
  if (found === null || found === undefined) throw new Error('it is not there');
  return found;
}

describe.skipIf(!hasObjectServer())('artifacts moved to a real object store', () => {
  let server: ObjectServer;
  let objects: ObjectStore;
  let testStore: TestStore;
  let store: Store;
  beforeAll(async () => {
    server = await startObjectServer();
    objects = openS3(await server.newBucket());
    testStore = await TestStore.open();
    store = testStore.store;
  });
  afterAll(async () => {
    await testStore[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  async function endedWith(content: Uint8Array, tenant = 'acme'): Promise<JobKey> {
    const key = await runJob(store, { tenant });
    const artifacts = [{ path: 'output/a', size_bytes: content.length, sha256: sha256Hex(content), content }];
    await store.finish(finishOf(key, { artifacts }));
    return key;
  }

  const newContent = () => new Uint8Array(randomBytes(movedBytesMin + 7));
  const move = (changes: Partial<ObjectStore> = {}) =>
    moveContents({ store, objects: { ...objects, ...changes }, bytesMin: movedBytesMin }, signal);
  const remove = () => removeObjects({ store, objects, abandonedMilliseconds }, signal);

  /** The server's files that have these bytes. */
  const filesOf = (content: Uint8Array) => server.files().filter((file) => readFileSync(file).equals(content));

  async function contentOf(key: JobKey): Promise<Uint8Array> {
    const object = await store.objectOfArtifact({ key, path: 'output/a' });
    return await readObject(objects, there(object));
  }

  test('an artifact that was moved is read back unchanged, and its object is removed with its job', async () => {
    const content = newContent();
    const key = await endedWith(content);
    expect(await move()).toBe(1);
    expect(Buffer.from(content).equals(await contentOf(key))).toBe(true);
    expect(filesOf(content)).toHaveLength(1);
    await store.deleteEnded(EVERYTHING);
    expect(await remove()).toBe(1);
    expect(filesOf(content)).toHaveLength(0);
    expect(await store.objectCounts({ bytesMin: movedBytesMin })).toEqual({ to_move: 0, to_remove: 0 });
  });

  test('two jobs of one tenant share an object, and two tenants never share an object', async () => {
    const content = newContent();
    const keys = [await endedWith(content), await endedWith(content), await endedWith(content, 'umbrella')];
    expect(await move()).toBe(3);
    expect(filesOf(content)).toHaveLength(2);
    for (const key of keys) expect(Buffer.from(content).equals(await contentOf(key))).toBe(true);
  });

  test('if the service dies after it puts an object, the next service finds and uses that object', async () => {
    const content = newContent();
    const key = await endedWith(content);
    // The first step after the put is to read the object back.
    await expect(move({ get: () => Promise.reject(new Error('killed')) })).rejects.toThrow('killed');
    expect(filesOf(content)).toHaveLength(1);
    expect((await store.contentHere({ ...key, position: 0 }))?.content).toHaveLength(content.length);
    expect(await move()).toBe(1);
    expect(filesOf(content)).toHaveLength(1);
    expect(Buffer.from(content).equals(await contentOf(key))).toBe(true);
  });

  test('an object is removed even if its job is removed before the object is used', async () => {
    const content = newContent();
    await endedWith(content);
    await expect(move({ get: () => Promise.reject(new Error('killed')) })).rejects.toThrow('killed');
    await store.deleteEnded(EVERYTHING);
    expect(filesOf(content)).toHaveLength(1);
    await remove();
    expect(filesOf(content)).toHaveLength(0);
  });

  slowTest(
    'an object server that is killed during a put loses nothing, and has the artifact when it is back',
    async () => {
      const earlier = newContent();
      const stored = await endedWith(earlier);
      await move();
      const content = newContent();
      const key = await endedWith(content);
      const put: ObjectStore['put'] = async (name, bytes) => {
        const putting = objects.put(name, bytes);
        await Promise.allSettled([putting, server.kill()]);
        await putting;
      };
      await expect(move({ put })).rejects.toMatchObject({ code: 'unreachable' });
      expect((await store.contentHere({ ...key, position: 0 }))?.content).toHaveLength(content.length);
      await server.start();
      expect(await move()).toBe(1);
      expect(Buffer.from(content).equals(await contentOf(key))).toBe(true);
      expect(Buffer.from(earlier).equals(await contentOf(stored))).toBe(true);
    },
  );

  test('an artifact stays in the store if the object store returns different bytes', async () => {
    const content = newContent();
    const key = await endedWith(content);
    const put: ObjectStore['put'] = async (name, bytes) => {
      await objects.put(name, bytes);
      for (const file of filesOf(content)) changeFile(file);
    };
    await expect(move({ put })).rejects.toMatchObject({ code: 'damaged' });
    expect(await store.objectOfArtifact({ key, path: 'output/a' })).toBeNull();
    expect(await move()).toBe(1);
    expect(Buffer.from(content).equals(await contentOf(key))).toBe(true);
  });

  test('a damaged or lost object is put again when another job has the same bytes', async () => {
    for (const damage of [changeFile, rmSync]) {
      const content = newContent();
      const first = await endedWith(content);
      await move();
      for (const file of filesOf(content)) damage(file);
      await expect(contentOf(first)).rejects.toMatchObject({ code: expect.stringMatching(/^(damaged|missing)$/) });
      await endedWith(content);
      expect(await move()).toBe(1);
      expect(Buffer.from(content).equals(await contentOf(first))).toBe(true);
    }
  });

  slowTest('an object that cannot be removed stays listed until a later try removes it', async () => {
    await endedWith(newContent());
    await move();
    await store.deleteEnded(EVERYTHING);
    await server.refuse();
    await expect(remove()).rejects.toMatchObject({ code: 'unreachable' });
    expect((await store.objectCounts({ bytesMin: movedBytesMin })).to_remove).toBeGreaterThan(0);
    await server.accept();
    expect(await remove()).toBeGreaterThan(0);
    expect((await store.objectCounts({ bytesMin: movedBytesMin })).to_remove).toBe(0);
  });

  slowTest(
    'the loop moves new artifacts when it is woken, and all waiting ones when the object store answers again',
    async () => {
      const nudges = createNudges();
      const kept = noticeReturn(objects, () => nudges.send('objects'));
      let failures = 0;
      const put: ObjectStore['put'] = (name, bytes) =>
        kept.put(name, bytes).catch((error: unknown) => {
          failures++;
          throw error;
        });
      // The loop looks again by itself only after the end of this test.
      const recheckMilliseconds = 3_600_000;
      const log = createLog('silent');
      await using loop = createObjectWork({
        store,
        nudges,
        log,
        recheckMilliseconds,
        objects: { ...kept, put },
        bytesMin: movedBytesMin,
      });
      const rest = async () => (await store.objectCounts({ bytesMin: movedBytesMin })).to_move;
      loop.start();
      await endedWith(newContent());
      nudges.send('contents');
      await expect.poll(rest).toBe(0);
      await server.refuse();
      await endedWith(newContent());
      nudges.send('contents');
      await expect.poll(() => failures).toBe(1);
      await server.accept();
      expect(await rest()).toBe(1);
      await kept.check();
      await expect.poll(rest).toBe(0);
    },
  );

  test('a missing or damaged object is counted, and without an object store no object is read', async () => {
    const content = newContent();
    const key = await endedWith(content);
    await move();
    const object = there(await store.objectOfArtifact({ key, path: 'output/a' }));
    const contents = createObjectContents(objects, createLog('silent'));
    await expect(contents.check(object)).resolves.toBeUndefined();
    for (const file of filesOf(content)) changeFile(file);
    await expect(contents.read(object)).rejects.toMatchObject({ code: 'damaged' });
    await objects.remove(objectKeyOf(object));
    await expect(contents.check(object)).rejects.toMatchObject({ code: 'missing' });
    expect(contents.problems).toEqual({ missing: 1, damaged: 1 });
    const without = createObjectContents(null, createLog('silent'));
    await expect(without.read(object)).rejects.toMatchObject({ code: 'refused' });
  });
});
