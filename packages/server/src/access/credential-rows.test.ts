import { expect, test } from 'vitest';
import type { CredentialRow } from '../store/records/rows.ts';
import { type CredentialStore, rememberedRows } from './credential-rows.ts';

const ROW: CredentialRow = {
  credential_id: 'one',
  tenant: 'acme',
  principal: 'ci',
  scopes: [],
  secret_sha256: '',
  created_at: '2026-06-01T00:00:00.000Z',
  expires_at: null,
  revoked_at: null,
};

/** A store with one row. Its reads and changes end when the test says so. */
function storedRows() {
  const asked: string[] = [];
  let row = ROW;
  let gate: Promise<void> = Promise.resolve();
  const store: CredentialStore = {
    credential: async (credential_id) => {
      asked.push(credential_id);
      const read = credential_id === row.credential_id ? row : null;
      await gate;
      return read;
    },
    credentials: async () => [row],
    createCredential: async () => undefined,
    revokeCredential: async ({ at }) => {
      await gate;
      row = { ...row, revoked_at: at };
      return true;
    },
    rotateCredential: async () => true,
  };
  return {
    asked,
    rows: rememberedRows(store),
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
  };
}

const REVOKED = { ...ROW, revoked_at: '2026-06-02T00:00:00.000Z' };
const revocation = { credential_id: 'one', at: REVOKED.revoked_at };

test('a credential is read from the store once, but an unknown id is looked up each time', async () => {
  const { rows, asked } = storedRows();
  for (const id of ['one', 'one', 'two', 'two']) await rows.credential(id);
  expect(asked).toEqual(['one', 'two', 'two']);
});

test('a revoked credential reads as revoked at once, and the listeners for its end are called', async () => {
  const { rows } = storedRows();
  const heard: (CredentialRow | null)[] = [];
  rows.whenEnded(() => void Promise.resolve(rows.credential('one')).then((row) => heard.push(row)));
  expect(await rows.credential('one')).toEqual(ROW);
  await rows.revokeCredential(revocation);
  expect(await rows.credential('one')).toEqual(REVOKED);
  expect(heard).toEqual([REVOKED]);
});

test('if a credential changes while its row is read, the row is not cached', async () => {
  const { rows, hold } = storedRows();
  const release = hold();
  const before = rows.credential('one');
  const revoked = rows.revokeCredential(revocation);
  const during = rows.credential('one');
  release();
  expect([await before, await during, await revoked]).toEqual([ROW, ROW, true]);
  expect(await rows.credential('one')).toEqual(REVOKED);
});
