import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { CredentialRow } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { at, emptyStore, type TestDatabase } from '../store.fixture.ts';
import { createCredential, credential, credentials, revokeCredential, rotateCredential } from './credentials.ts';

let connection: TestDatabase;
let db: StoreDatabase;
beforeAll(async () => {
  connection = await emptyStore();
  db = connection.db;
});
beforeEach(() => connection.rows('delete from credentials'));
afterAll(() => connection[Symbol.asyncDispose]());

function row(credential_id: string, changes: Partial<CredentialRow> = {}): CredentialRow {
  return {
    credential_id,
    tenant: 'acme',
    principal: 'alice',
    scopes: ['jobs:submit', 'jobs:read'],
    secret_sha256: 'a'.repeat(64),
    created_at: at(0),
    expires_at: null,
    revoked_at: null,
    ...changes,
  };
}

test('a credential is found by its identifier, as it was created', async () => {
  const created = row('one', { expires_at: at(9) });
  await createCredential(db, created);
  expect(await credential(db, 'one')).toEqual(created);
  expect(await credential(db, 'two')).toBeNull();
  expect(await credential(db, "' or 1 = 1 --")).toBeNull();
});

test('the identifier of a credential cannot be used twice', async () => {
  await createCredential(db, row('one'));
  await expect(createCredential(db, row('one', { tenant: 'other' }))).rejects.toThrow(/unique/i);
  expect((await credential(db, 'one'))?.tenant).toBe('acme');
});

test('credentials are listed oldest first, for one tenant or for all', async () => {
  await createCredential(db, row('late', { created_at: at(2) }));
  await createCredential(db, row('early', { created_at: at(1) }));
  await createCredential(db, row('foreign', { tenant: 'other', created_at: at(3) }));
  const ids = async (tenant: string | null) => (await credentials(db, tenant)).map((found) => found.credential_id);
  expect(await ids('acme')).toEqual(['early', 'late']);
  expect(await ids(null)).toEqual(['early', 'late', 'foreign']);
});

test('a revocation cannot be undone, and its time can only move to an earlier one', async () => {
  await createCredential(db, row('one'));
  expect(await revokeCredential(db, { credential_id: 'one', at: at(50) })).toBe(true);
  expect(await revokeCredential(db, { credential_id: 'one', at: at(90) })).toBe(true);
  expect((await credential(db, 'one'))?.revoked_at).toBe(at(50));
  await revokeCredential(db, { credential_id: 'one', at: at(20) });
  expect((await credential(db, 'one'))?.revoked_at).toBe(at(20));
  expect(await revokeCredential(db, { credential_id: 'two', at: at(1) })).toBe(false);
});

test('a rotation creates the new credential and ends the old one in one step, or changes nothing', async () => {
  await createCredential(db, row('old'));
  const successor = row('new', { created_at: at(5) });
  expect(await rotateCredential(db, { credential_id: 'old', at: at(60), successor })).toBe(true);
  expect((await credential(db, 'old'))?.revoked_at).toBe(at(60));
  expect(await credential(db, 'new')).toEqual(successor);
  expect(await rotateCredential(db, { credential_id: 'gone', at: at(1), successor: row('newer') })).toBe(false);
  expect(await credential(db, 'newer')).toBeNull();
});
