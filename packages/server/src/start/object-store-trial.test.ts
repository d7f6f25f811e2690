import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openObjectProxy } from '../../../../test/rig/object-proxy.ts';
import { hasObjectServer, type ObjectServer, startObjectServer } from '../../../../test/rig/object-server.ts';
import type { S3Place } from '../objects/s3-requests.ts';
import type { Check } from '../sandbox/prove/doctor/finding.ts';
import { Checks } from '../sandbox/prove/doctor/trial.ts';
import { objectStoreTrials } from './object-store-trial.ts';

test('the doctor tries no object store if none is set', () => {
  expect(objectStoreTrials({ objectStore: null })).toEqual([]);
});

describe.skipIf(!hasObjectServer())("the doctor's trial of a real object store", () => {
  let server: ObjectServer;
  let place: S3Place;
  beforeAll(async () => {
    server = await startObjectServer();
    place = await server.newBucket();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  async function tried(changes: Partial<S3Place> = {}): Promise<Check | undefined> {
    const checks = new Checks();
    await checks.run(objectStoreTrials({ objectStore: { ...place, bytesMin: 65_536, ...changes } }));
    return checks.all[0];
  }

  test('passes if an object can be put, read and removed, and leaves no object', async () => {
    const url = `${place.url}/some/prefix`;
    expect(await tried({ url })).toMatchObject({
      id: 'service.object_store',
      result: 'pass',
      observed: `${url} keeps what is put there`,
      fix: null,
    });
    expect(server.files()).toEqual([]);
  });

  test.each([
    ['a wrong secret', () => ({ secretKey: 'not the secret' }), 'HTTP 403'],
    ['an unknown access key', () => ({ accessKey: 'test:nobody' }), 'HTTP 403'],
    ['a bucket that nobody made', () => ({ url: `${place.url}-elsewhere` }), 'HTTP 404'],
  ] as const)(
    'fails with %s, states the answer of the object store, and shows no secret',
    async (_name, changes, said) => {
      const check = await tried(changes());
      expect(check).toMatchObject({ result: 'fail', fix: expect.stringContaining('s3:ListBucket') });
      expect(check?.observed).toContain(said);
      const shown = JSON.stringify(check);
      for (const secret of [place.secretKey, 'not the secret']) expect(shown).not.toContain(secret);
      expect(server.files()).toEqual([]);
    },
  );

  test('fails if nothing answers at the address', async () => {
    await server.refuse();
    expect(await tried()).toMatchObject({ result: 'fail', observed: expect.stringContaining('ECONNREFUSED') });
    await server.accept();
  });

  test('fails if objects can be written but not read, and leaves no object', async () => {
    let puts = 0;
    await using proxy = await openObjectProxy(place.url, (method) => {
      if (method === 'PUT') puts++;
      return method === 'GET' ? 'refuse' : 'pass';
    });
    expect(await tried({ url: proxy.urlOf(place.url) })).toMatchObject({
      result: 'fail',
      observed: expect.stringContaining('HTTP 403'),
    });
    expect(puts).toBe(1);
    expect(server.files()).toEqual([]);
  });

  test('fails if objects cannot be removed', async () => {
    await using proxy = await openObjectProxy(place.url, (method) => (method === 'DELETE' ? 'refuse' : 'pass'));
    expect(await tried({ url: proxy.urlOf(place.url) })).toMatchObject({
      result: 'fail',
      observed: expect.stringContaining('HTTP 403'),
    });
    expect(server.files()).toHaveLength(1);
  });
});
