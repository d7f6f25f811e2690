import type { Whoami } from '@vouchbox/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { admit } from '../jobs/admission.ts';
import type { StreamTicketInput } from '../records/inputs.ts';
import type { JobKey } from '../records/rows.ts';
import { admission, admitJob, at, emptyStore, TestStore } from '../store.fixture.ts';
import { storeTicket } from './tickets.ts';

let testStore: TestStore;
let key: JobKey;
beforeAll(async () => {
  testStore = await TestStore.open();
  key = await admitJob(testStore.store);
});
afterAll(() => testStore[Symbol.asyncDispose]());

const CALLER: Whoami = {
  tenant: 'acme',
  principal: 'alice',
  auth_method: 'key',
  credential_id: 'one',
  scopes: ['jobs:read'],
  expires_at: at(9_000),
};

let tickets = 0;
function ticket(changes: Partial<StreamTicketInput> = {}): StreamTicketInput {
  const ticket_sha256 = String(++tickets).padStart(64, '0');
  const { job_id } = key;
  return { ticket_sha256, job_id, caller: CALLER, created_at: at(0), expires_at: at(30_000), ...changes };
}

test('a ticket can be used once, and returns the caller who minted it', async () => {
  const { store } = testStore;
  const { ticket_sha256, job_id, ...rest } = ticket();
  expect(await store.storeTicket({ ticket_sha256, job_id, ...rest })).toBe(true);
  expect(await store.consumeTicket({ ticket_sha256, job_id, now: at(1) })).toEqual(CALLER);
  expect(await store.consumeTicket({ ticket_sha256, job_id, now: at(1) })).toBeNull();
});

test('exactly one of many concurrent uses succeeds', async () => {
  const { store } = testStore;
  const minted = ticket();
  await store.storeTicket(minted);
  const { ticket_sha256, job_id } = minted;
  const uses = await Promise.all(
    Array.from({ length: 50 }, () => store.consumeTicket({ ticket_sha256, job_id, now: at(1) })),
  );
  expect(uses.filter((use) => use !== null)).toEqual([CALLER]);
});

test('a ticket ends at its expiry, and not before', { tags: ['Ticket-4'] }, async () => {
  const { store } = testStore;
  const [last, ended] = [ticket(), ticket()];
  await store.storeTicket(last);
  await store.storeTicket(ended);
  const use = ({ ticket_sha256, job_id }: StreamTicketInput, milliseconds: number) =>
    store.consumeTicket({ ticket_sha256, job_id, now: at(milliseconds) });
  expect(await use(last, 29_999)).toEqual(CALLER);
  expect(await use(ended, 30_000)).toBeNull();
});

test('a ticket is for one job of its tenant, and cannot be minted for an unknown job', {
  tags: ['Ticket-5'],
}, async () => {
  const { store } = testStore;
  const other = await admitJob(store);
  const minted = ticket();
  await store.storeTicket(minted);
  const { ticket_sha256 } = minted;
  expect(await store.consumeTicket({ ticket_sha256, job_id: other.job_id, now: at(1) })).toBeNull();
  expect(await store.consumeTicket({ ticket_sha256, job_id: key.job_id, now: at(1) })).toBeNull();
  expect(await store.storeTicket(ticket({ job_id: 'job_unknown' }))).toBe(false);
  expect(await store.storeTicket(ticket({ caller: { ...CALLER, tenant: 'other' } }))).toBe(false);
});

test('a ticket stores only the hash of its token, and remains when the store is reopened', async () => {
  const minted = ticket();
  await testStore.store.storeTicket(minted);
  const store = await testStore.reopen();
  const { ticket_sha256, job_id } = minted;
  expect(await store.consumeTicket({ ticket_sha256, job_id, now: at(1) })).toEqual(CALLER);
});

test('minting a ticket removes a few expired tickets, the oldest first', async () => {
  await using connection = await emptyStore();
  const { db } = connection;
  const { job_id } = admission();
  await admit(db, admission({ job_id }));
  for (let index = 0; index < 50; index++) await storeTicket(db, ticket({ job_id, expires_at: at(100 + index) }));
  const kept: (readonly [count: number, oldest: string])[] = [];
  for (let minted = 0; minted < 4; minted++) {
    await storeTicket(db, ticket({ job_id, created_at: at(1000), expires_at: at(2000) }));
    const [row] = await connection.rows('select count(*) as count, min(expires_at) as oldest from stream_tickets');
    kept.push([Number(row?.['count']), String(row?.['oldest'])]);
  }
  // Each minting adds one ticket and removes up to sixteen expired ones.
  expect(kept).toEqual([
    [35, at(116)],
    [20, at(132)],
    [5, at(148)],
    [4, at(2000)],
  ]);
});
