import type { Scope } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import type { CredentialRow } from '../store/records/rows.ts';
import { createIndexedKeys, newKey } from './indexed.ts';

const NOW = Date.parse('2026-06-01T00:00:00.000Z');

function issued(changes: Partial<CredentialRow> = {}) {
  const { key, ...kept } = newKey();
  const row: CredentialRow = {
    tenant: 'acme',
    principal: 'ci',
    scopes: ['jobs:submit', 'jobs:read', 'a:scope:of:later' as Scope],
    created_at: '2026-05-01T00:00:00.000Z',
    expires_at: null,
    revoked_at: null,
    ...kept,
    ...changes,
  };
  const asked: string[] = [];
  const keys = createIndexedKeys(
    {
      credential: async (credential_id) => {
        asked.push(credential_id);
        return credential_id === row.credential_id ? row : null;
      },
      whenEnded: () => undefined,
    },
    () => NOW,
  );
  return { key, row, keys, asked };
}

test('a key gives the caller that its row names', { tags: ['Authentication-2'] }, async () => {
  const { key, row, keys } = issued({ expires_at: '2026-06-01T00:00:00.001Z' });
  expect(await keys.resolve(key)).toEqual({
    tenant: 'acme',
    principal: 'ci',
    auth_method: 'key',
    credential_id: row.credential_id,
    scopes: ['jobs:submit', 'jobs:read'],
    expires_at: '2026-06-01T00:00:00.001Z',
  });
});

test('a new key has 256 secret bits, and its row stores only their digest', { tags: ['Authentication-2c'] }, () => {
  const { key, secret_sha256 } = newKey();
  expect(key).toMatch(/^svc_[0-9a-f]{18}_[A-Za-z0-9_-]{43}$/);
  expect(secret_sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(newKey().key).not.toBe(key);
});

test.each([
  ['a wrong secret', ({ key }: { key: string }) => `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`],
  ['an unknown index', ({ key }: { key: string }) => key.replace('svc_', 'svc_0')],
])('a key with %s is refused', async (_name, spoilt) => {
  const { key, keys } = issued();
  expect(await keys.resolve(spoilt({ key }))).toMatchObject({ code: 'unauthorized' });
});

test.each([{ revoked_at: '2026-05-01T00:00:00.000Z' }, { expires_at: '2026-06-01T00:00:00.000Z' }])(
  'a key whose row is %j is refused, and everything that the key opened ends',
  async (changes) => {
    const { key, row, keys } = issued(changes);
    expect(await keys.resolve(key)).toMatchObject({ code: 'unauthorized' });
    expect(await keys.stands({ ...row, auth_method: 'key', scopes: [] })).toBe(false);
  },
);

test.each(['', 'svc_', 'svc_a_b', 'svc_../../x_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'a.b.c'])(
  'a token that does not look like a key is passed on to other kinds of credentials without a query: %j',
  async (token) => {
    const { keys, asked } = issued();
    expect(await keys.resolve(token)).toBeNull();
    expect(asked).toEqual([]);
  },
);
