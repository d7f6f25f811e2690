import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasObjectServer, type ObjectServer, startObjectServer } from '../../../../test/rig/object-server.ts';
import type { ObjectStore } from './object-store.ts';
import { openS3 } from './s3-object-store.ts';
import type { S3Place } from './s3-requests.ts';

const CONTENT = Buffer.alloc(300_000, 'an object of a test; ');

describe.skipIf(!hasObjectServer())('a real S3-compatible server', () => {
  let server: ObjectServer;
  let place: S3Place;
  let objects: ObjectStore;
  beforeAll(async () => {
    server = await startObjectServer();
    place = await server.newBucket();
    objects = openS3({ ...place, url: `${place.url}/some/prefix` });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('an object that was put is read back byte for byte, and is gone once it is removed', async () => {
    await objects.put('a/sha256/1', CONTENT);
    expect(CONTENT.equals(await objects.get('a/sha256/1', CONTENT.length))).toBe(true);
    expect(await objects.size('a/sha256/1')).toBe(CONTENT.length);
    await objects.remove('a/sha256/1');
    await expect(objects.size('a/sha256/1')).rejects.toMatchObject({ code: 'missing' });
    await expect(objects.get('a/sha256/1', 10)).rejects.toMatchObject({ code: 'missing' });
    await expect(objects.remove('a/sha256/1')).resolves.toBeUndefined();
  });

  test('an object that is longer than its recorded size is not read', async () => {
    await objects.put('long', CONTENT);
    await expect(objects.get('long', CONTENT.length - 1)).rejects.toMatchObject({ code: 'damaged' });
  });

  test('the store can be used once its bucket answers', async () => {
    await expect(objects.check()).resolves.toBeUndefined();
    const elsewhere = openS3({ ...place, url: `${place.url}-that-nobody-made` });
    await expect(elsewhere.check()).rejects.toMatchObject({ code: 'refused' });
    await expect(elsewhere.get('a', 10)).rejects.toMatchObject({ code: 'refused' });
  });

  test('wrong credentials are refused with a reason that contains no secret', async () => {
    const others = openS3({ ...place, secretKey: 'not the secret' });
    const error: Error = await others.put('a', CONTENT).then(
      () => expect.unreachable(),
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ code: 'refused', message: expect.stringContaining('SignatureDoesNotMatch') });
    expect(JSON.stringify([error.message, error.stack])).not.toContain('not the secret');
  });

  test('a server that is down is unreachable, and has its stored objects once it is back', async () => {
    await objects.put('kept', CONTENT);
    await server.refuse();
    await expect(objects.get('kept', CONTENT.length)).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    await server.accept();
    expect(CONTENT.equals(await objects.get('kept', CONTENT.length))).toBe(true);
  });
});
