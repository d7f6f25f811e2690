import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SCOPES } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAccess } from '../access/authenticate.ts';
import { rememberedRows } from '../access/credential-rows.ts';
import { createIndexedKeys } from '../access/indexed.ts';
import { openStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import { type CreateRequest, createCredentials, overlapSecondsMax } from './credentials.ts';

const START = Date.parse('2026-06-01T00:00:00.000Z');
const plain: CreateRequest = { tenant: 'acme', principal: null, scopes: null, expires_at: null };

let dataDir: string;
let store: Store;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'svc-credentials-'));
  store = await openStore({ dataDir });
});
afterAll(async () => {
  await store[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true });
});

/** Credentials with a clock that the test moves, and a way to find a key's caller as a request does. */
function issuer() {
  let now = START;
  const rows = rememberedRows(store);
  return {
    credentials: createCredentials(rows, () => now),
    pass: (seconds: number) => (now += seconds * 1000),
    who: (key: string) => createAccess([createIndexedKeys(rows, () => now)], () => now).authenticate(`Bearer ${key}`),
  };
}

describe('a key that is created', () => {
  test('has all its tenant’s scopes if none is named', async () => {
    const { credentials, who } = issuer();
    const { key, ...view } = await credentials.create(plain);
    expect(view).toEqual({
      credential_id: view.credential_id,
      tenant: 'acme',
      principal: `key:${view.credential_id}`,
      scopes: [...SCOPES],
      created_at: '2026-06-01T00:00:00.000Z',
      expires_at: null,
      revoked_at: null,
    });
    expect(await who(key)).toMatchObject({ tenant: 'acme', scopes: [...SCOPES], expires_at: null });
  });

  test('has the given scopes, principal and expiry', async () => {
    const { credentials, who } = issuer();
    const wanted = { ...plain, principal: 'ci@acme', scopes: ['jobs:read', 'jobs:submit', 'jobs:read'] };
    const { key } = await credentials.create({ ...wanted, expires_at: '2026-06-01T02:00:00+01:00' });
    expect(await who(key)).toMatchObject({
      principal: 'ci@acme',
      scopes: ['jobs:submit', 'jobs:read'],
      expires_at: '2026-06-01T01:00:00.000Z',
    });
  });

  test('ends at its expiry and not before', async () => {
    const { credentials, pass, who } = issuer();
    const { key } = await credentials.create({ ...plain, expires_at: '2026-06-01T00:00:10Z' });
    pass(9.999);
    expect(await who(key)).toHaveProperty('tenant', 'acme');
    pass(0.001);
    expect(await who(key)).toHaveProperty('code', 'unauthorized');
  });

  test('has a secret that the store does not contain, and no list shows its digest', async () => {
    const { credentials } = issuer();
    const { key, credential_id } = await credentials.create(plain);
    const secret = key.slice(`svc_${credential_id}_`.length);
    const row = await store.credential(credential_id);
    expect(JSON.stringify(row)).not.toContain(secret);
    const views = await credentials.list({ tenant: 'acme' });
    expect(JSON.stringify(views)).not.toContain(row?.secret_sha256);
  });

  test.each<[string, Partial<CreateRequest>]>([
    ['a tenant named like a property of every object', { tenant: '__proto__' }],
    ['a tenant named constructor', { tenant: 'constructor' }],
    ['no tenant', { tenant: '' }],
    ['a tenant of 65 characters', { tenant: 'a'.repeat(65) }],
    ['a tenant of 1,000 characters', { tenant: 'a'.repeat(1000) }],
    ['a tenant with a slash', { tenant: 'a/b' }],
    ['a tenant with a NUL', { tenant: 'a\0b' }],
    ['an empty principal', { principal: '' }],
    ['a principal with a line break', { principal: 'a\nb' }],
    ['a principal of 129 characters', { principal: 'a'.repeat(129) }],
    ['no scope', { scopes: [] }],
    ['an unknown scope', { scopes: ['jobs:read', 'jobs:write'] }],
    ['a scope named like a property of every object', { scopes: ['constructor'] }],
    ['an end in the past', { expires_at: '2026-06-01T00:00:00.000Z' }],
    ['an end without an offset', { expires_at: '2027-06-01T00:00:00' }],
    ['an end that is a day', { expires_at: '2027-06-01' }],
    ['an end in no month', { expires_at: '2027-13-01T00:00:00Z' }],
  ])('a key with %s is refused and not stored', async (_name, changes) => {
    const { credentials } = issuer();
    const before = (await credentials.list({ tenant: null })).length;
    await expect(credentials.create({ ...plain, ...changes })).rejects.toHaveProperty('name', 'OperatorError');
    expect(await credentials.list({ tenant: null })).toHaveLength(before);
  });
});

test('the list of keys can be limited to one tenant', async () => {
  const { credentials } = issuer();
  const mine = await credentials.create({ ...plain, tenant: 'lister' });
  await credentials.create({ ...plain, tenant: 'other' });
  const { key: _, ...view } = mine;
  expect(await credentials.list({ tenant: 'lister' })).toEqual([view]);
  expect(await credentials.list({ tenant: 'nobody' })).toEqual([]);
});

describe('a key that is revoked', () => {
  test('is refused, and revoking it again changes nothing', async () => {
    const { credentials, pass, who } = issuer();
    const { key, credential_id } = await credentials.create(plain);
    expect((await credentials.revoke({ credential_id })).revoked_at).toBe('2026-06-01T00:00:00.000Z');
    expect(await who(key)).toHaveProperty('code', 'unauthorized');
    pass(60);
    expect((await credentials.revoke({ credential_id })).revoked_at).toBe('2026-06-01T00:00:00.000Z');
  });

  test('must be a known key', async () => {
    const { credentials } = issuer();
    await expect(credentials.revoke({ credential_id: '0'.repeat(18) })).rejects.toThrow('there is no credential');
    await expect(credentials.revoke({ credential_id: "'; drop table" })).rejects.toThrow(/^there is no credential$/);
  });
});

describe('a key that is rotated', () => {
  const rotation = { expires_at: null, overlap_seconds: 0 };

  test('ends at once, and the new key has the same caller and the same expiry', async () => {
    const { credentials, who } = issuer();
    const wanted = { ...plain, principal: 'ci', scopes: ['jobs:read'], expires_at: '2026-07-01T00:00:00.000Z' };
    const old = await credentials.create(wanted);
    const next = await credentials.rotate({ credential_id: old.credential_id, ...rotation });
    expect(next).toMatchObject(wanted);
    expect(next.credential_id).not.toBe(old.credential_id);
    expect(await who(old.key)).toHaveProperty('code', 'unauthorized');
    expect(await who(next.key)).toMatchObject({ principal: 'ci', scopes: ['jobs:read'] });
  });

  test('stays valid beside the new key during the overlap, and states when it ends', async () => {
    const { credentials, pass, who } = issuer();
    const old = await credentials.create(plain);
    const next = await credentials.rotate({ credential_id: old.credential_id, ...rotation, overlap_seconds: 60 });
    pass(59.999);
    expect(await who(old.key)).toMatchObject({ tenant: 'acme', expires_at: '2026-06-01T00:01:00.000Z' });
    pass(0.001);
    expect(await who(old.key)).toHaveProperty('code', 'unauthorized');
    expect(await who(next.key)).toHaveProperty('expires_at', null);
  });

  test.each([-1, overlapSecondsMax + 1, Number.NaN])('cannot overlap for %d seconds', async (overlap_seconds) => {
    const { credentials, who } = issuer();
    const { key, credential_id } = await credentials.create(plain);
    await expect(credentials.rotate({ credential_id, expires_at: null, overlap_seconds })).rejects.toThrow('overlap');
    expect(await who(key)).toHaveProperty('tenant');
  });

  test('must still be valid: a revoked, rotated or expired key cannot be rotated', async () => {
    const { credentials, pass } = issuer();
    const revoked = await credentials.create(plain);
    await credentials.revoke(revoked);
    const rotated = await credentials.create(plain);
    await credentials.rotate({ ...rotation, credential_id: rotated.credential_id, overlap_seconds: 60 });
    const expired = await credentials.create({ ...plain, expires_at: '2026-06-01T00:00:01Z' });
    pass(1);
    for (const { credential_id } of [revoked, rotated, expired]) {
      await expect(credentials.rotate({ ...rotation, credential_id })).rejects.toHaveProperty(
        'hint',
        'create a new one',
      );
    }
    await expect(credentials.rotate({ ...rotation, credential_id: 'nobody' })).rejects.toThrow(
      'there is no credential',
    );
  });
});
