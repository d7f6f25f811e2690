import { readFileSync } from 'node:fs';
import { streamTicketSeconds } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Caller } from '../ground/caller.ts';
import { ServiceError } from '../ground/service-error.ts';
import { admitJob, TestStore } from '../store/store.fixture.ts';
import { type CredentialKind, createAccess } from './authenticate.ts';
import { rememberedRows } from './credential-rows.ts';
import { createIndexedKeys, newKey } from './indexed.ts';
import { createLegacyKeys } from './legacy.ts';
import { createTickets } from './tickets.ts';

let testStore: TestStore;
let job: string;
let other: string;
beforeAll(async () => {
  testStore = await TestStore.open();
  job = (await admitJob(testStore.store)).job_id;
  other = (await admitJob(testStore.store)).job_id;
});
afterAll(() => testStore[Symbol.asyncDispose]());

const REFUSED = { code: 'unauthorized', status: 401 };
const START = Date.parse('2026-06-01T00:00:00.000Z');

/** A process on the store as it is now, with these credentials and a clock of its own. */
function processWith(kinds: (now: () => number) => readonly CredentialKind[], began = START) {
  let time = began;
  const now = () => time;
  const access = createAccess(kinds(now), now);
  return {
    tickets: createTickets({ rows: testStore.store, access, now }),
    pass: (milliseconds: number) => (time += milliseconds),
    async callerOf(key: string): Promise<Caller> {
      const caller = await access.authenticate(`Bearer ${key}`);
      if (caller instanceof ServiceError) throw caller;
      return caller;
    },
  };
}

const withKey = (key: string) => processWith(() => [createLegacyKeys([{ tenant: 'acme', key }])]);

/** A process whose only caller has minted a ticket. */
async function minted(process = withKey('sesame'), key = 'sesame') {
  const caller = await process.callerOf(key);
  const ticket = await process.tickets.mint(caller, job);
  if (ticket === null) throw new Error('the job is not there');
  return { ...process, caller, ...ticket };
}

test('a ticket has 256 random bits and lasts 30 seconds, and the store contains neither the ticket nor the key', async () => {
  const { ticket, expires_at, expires_in } = await minted();
  expect({ expires_at, expires_in }).toEqual({ expires_at: '2026-06-01T00:00:30.000Z', expires_in: 30 });
  expect(Buffer.from(ticket, 'base64url')).toHaveLength(32);
  const stored = ['', '-wal'].map((suffix) => readFileSync(testStore.path + suffix, 'latin1')).join('');
  expect(stored).toContain(job);
  expect(stored).not.toContain(ticket);
  expect(stored).not.toContain('sesame');
});

test('a ticket identifies its caller only once', { tags: ['Authentication-6'] }, async () => {
  const { tickets, ticket, caller } = await minted();
  expect(await tickets.redeem(ticket, job)).toEqual(caller);
  expect(await tickets.redeem(ticket, job)).toMatchObject(REFUSED);
});

test('exactly one of fifty concurrent uses of a ticket succeeds', async () => {
  const { tickets, ticket } = await minted();
  const redeemed = await Promise.all(Array.from({ length: 50 }, () => tickets.redeem(ticket, job)));
  expect(redeemed.filter((caller) => 'tenant' in caller)).toHaveLength(1);
});

test('a ticket that is used for another job is refused, and cannot be used again', {
  tags: ['Authentication-6'],
}, async () => {
  const { tickets, ticket } = await minted();
  expect(await tickets.redeem(ticket, other)).toMatchObject(REFUSED);
  expect(await tickets.redeem(ticket, job)).toMatchObject(REFUSED);
});

test('a ticket is not minted for a job of another tenant', async () => {
  const { tickets, caller } = await minted();
  expect(await tickets.mint(caller, 'job_unknown')).toBeNull();
  expect(await tickets.mint({ ...caller, tenant: 'other' }, job)).toBeNull();
});

test('a ticket is valid to its last millisecond, and no longer', { tags: ['Ticket-4'] }, async () => {
  const { tickets, pass, ticket, caller } = await minted();
  const second = await tickets.mint(caller, job);
  pass(streamTicketSeconds * 1000 - 1);
  expect(await tickets.redeem(ticket, job)).toEqual(caller);
  pass(1);
  expect(await tickets.redeem(second?.ticket ?? '', job)).toMatchObject(REFUSED);
});

test.each(['', 'x', '../../etc', 'a'.repeat(10_000), 'a'.repeat(43), "' OR 1=1 --"])(
  '%j is not a ticket',
  async (ticket) => {
    expect(await withKey('sesame').tickets.redeem(ticket, job)).toMatchObject(REFUSED);
  },
);

describe('a ticket ends with the credential that minted it', () => {
  async function indexed(changes: { expires_at?: string } = {}) {
    const { key, credential_id, secret_sha256 } = newKey();
    const plain = {
      tenant: 'acme',
      principal: 'p',
      scopes: ['jobs:read'] as const,
      expires_at: null,
      revoked_at: null,
    };
    const row = { ...plain, credential_id, secret_sha256, created_at: new Date(START).toISOString(), ...changes };
    await testStore.store.createCredential(row);
    return { key, row };
  }
  // Each process reads the credential rows again.
  const indexedProcess = (began = START) =>
    processWith((now) => [createIndexedKeys(rememberedRows(testStore.store), now)], began);

  test('a ticket works if the credential did not change', async () => {
    const { key } = await indexed();
    const { ticket, caller } = await minted(indexedProcess(), key);
    expect(await indexedProcess().tickets.redeem(ticket, job)).toEqual(caller);
  });

  test('a ticket ends if the credential expires', async () => {
    const { key } = await indexed({ expires_at: new Date(START + 1000).toISOString() });
    const { ticket, tickets, pass } = await minted(indexedProcess(), key);
    pass(1000);
    expect(await tickets.redeem(ticket, job)).toMatchObject(REFUSED);
  });

  test('a ticket ends if the credential is revoked', async () => {
    const { key, row } = await indexed();
    const { ticket } = await minted(indexedProcess(), key);
    await testStore.store.revokeCredential({ credential_id: row.credential_id, at: new Date(START).toISOString() });
    expect(await indexedProcess().tickets.redeem(ticket, job)).toMatchObject(REFUSED);
  });

  test('a ticket ends if the credential is rotated', async () => {
    const { key, row } = await indexed();
    const { ticket } = await minted(indexedProcess(), key);
    const successor = { ...row, credential_id: newKey().credential_id };
    const at = new Date(START).toISOString();
    await testStore.store.rotateCredential({ credential_id: row.credential_id, at, successor });
    expect(await indexedProcess().tickets.redeem(ticket, job)).toMatchObject(REFUSED);
  });

  test('a ticket ends if the service no longer accepts the kind of credential', async () => {
    const { key } = await indexed();
    const { ticket } = await minted(indexedProcess(), key);
    expect(await withKey('sesame').tickets.redeem(ticket, job)).toMatchObject(REFUSED);
  });
});

describe('a ticket that a legacy key minted before a restart', () => {
  test('is valid for the same key, even if that key now has another place in the list', async () => {
    const [{ ticket }, { ticket: second }] = [await minted(), await minted()];
    expect(await withKey('sesame').tickets.redeem(ticket, job)).toMatchObject({ credential_id: 'legacy_1' });
    const keys = [
      { tenant: 'other', key: 'before' },
      { tenant: 'acme', key: 'sesame' },
    ];
    const moved = processWith(() => [createLegacyKeys(keys)]);
    expect(await moved.tickets.redeem(second, job)).toEqual(await moved.callerOf('sesame'));
  });

  test('ends if another key has taken the place of that key', async () => {
    const { ticket } = await minted();
    expect(await withKey('other').tickets.redeem(ticket, job)).toMatchObject(REFUSED);
  });

  test('ends if that key belongs to another tenant', async () => {
    const { ticket } = await minted();
    const given = processWith(() => [createLegacyKeys([{ tenant: 'other', key: 'sesame' }])]);
    expect(await given.tickets.redeem(ticket, job)).toMatchObject(REFUSED);
  });
});
