import type { Whoami } from '@svc/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobKey, StreamTicketInput } from './store.ts';
import { admitJob, at, TestLedger } from './test-ledger.ts';

let ledger: TestLedger;
let key: JobKey;
beforeAll(async () => {
  ledger = await TestLedger.open();
  key = await admitJob(ledger.store);
});
afterAll(() => ledger[Symbol.asyncDispose]());

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

test('a ticket is used once, and gives the authority of whoever minted it', async () => {
  const { store } = ledger;
  const { ticket_sha256, job_id, ...rest } = ticket();
  expect(await store.storeTicket({ ticket_sha256, job_id, ...rest })).toBe(true);
  expect(await store.consumeTicket({ ticket_sha256, job_id, now: at(1) })).toEqual(CALLER);
  expect(await store.consumeTicket({ ticket_sha256, job_id, now: at(1) })).toBeNull();
});

test('of many uses at once exactly one succeeds', async () => {
  const { store } = ledger;
  const minted = ticket();
  await store.storeTicket(minted);
  const { ticket_sha256, job_id } = minted;
  const uses = await Promise.all(
    Array.from({ length: 50 }, () => store.consumeTicket({ ticket_sha256, job_id, now: at(1) })),
  );
  expect(uses.filter((use) => use !== null)).toEqual([CALLER]);
});

test('a ticket ends at its moment, not before', async () => {
  const { store } = ledger;
  const [last, ended] = [ticket(), ticket()];
  await store.storeTicket(last);
  await store.storeTicket(ended);
  const use = ({ ticket_sha256, job_id }: StreamTicketInput, milliseconds: number) =>
    store.consumeTicket({ ticket_sha256, job_id, now: at(milliseconds) });
  expect(await use(last, 29_999)).toEqual(CALLER);
  expect(await use(ended, 30_000)).toBeNull();
});

test('a ticket is of one job, and cannot be minted for a foreign or unknown one', async () => {
  const { store } = ledger;
  const other = await admitJob(store);
  const minted = ticket();
  await store.storeTicket(minted);
  const { ticket_sha256 } = minted;
  expect(await store.consumeTicket({ ticket_sha256, job_id: other.job_id, now: at(1) })).toBeNull();
  expect(await store.storeTicket(ticket({ job_id: 'job_unknown' }))).toBe(false);
  expect(await store.storeTicket(ticket({ caller: { ...CALLER, tenant: 'other' } }))).toBe(false);
});

test('expired tickets are forgotten when another is minted', async () => {
  const { store } = ledger;
  const stale = ticket({ expires_at: at(10) });
  await store.storeTicket(stale);
  await store.storeTicket(ticket({ created_at: at(10) }));
  const { ticket_sha256, job_id } = stale;
  expect(await store.consumeTicket({ ticket_sha256, job_id, now: at(5) })).toBeNull();
});
