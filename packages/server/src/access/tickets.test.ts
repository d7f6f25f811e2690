import { streamTicketSeconds } from '@svc/protocol';
import { expect, test } from 'vitest';
import type { Caller } from '../caller.ts';
import { createTicketMemory, createTickets, type TicketRow } from './tickets.ts';

const CALLER: Caller = {
  tenant: 'acme',
  principal: 'p',
  auth_method: 'key',
  credential_id: 'c',
  scopes: ['jobs:read'],
  expires_at: null,
};

function rig() {
  let time = Date.parse('2026-06-01T00:00:00.000Z');
  const rows = createTicketMemory(() => time);
  const put: TicketRow[] = [];
  const tickets = createTickets(
    {
      putTicket: async (row) => {
        put.push(row);
        await rows.putTicket(row);
      },
      takeTicket: (digest) => rows.takeTicket(digest),
    },
    () => time,
  );
  return { tickets, put, pass: (milliseconds: number) => (time += milliseconds) };
}

test('a ticket is 256 random bits that live 30 seconds, and only their digest is kept', async () => {
  const { tickets, put } = rig();
  const minted = await tickets.mint(CALLER, 'job_1');
  expect(minted).toMatchObject({ expires_at: '2026-06-01T00:00:30.000Z', expires_in: 30 });
  expect(Buffer.from(minted.ticket, 'base64url')).toHaveLength(32);
  expect(JSON.stringify(put)).not.toContain(minted.ticket);
});

test('a ticket stands for its caller once', async () => {
  const { tickets } = rig();
  const { ticket } = await tickets.mint(CALLER, 'job_1');
  expect(await tickets.redeem(ticket, 'job_1')).toEqual(CALLER);
  expect(await tickets.redeem(ticket, 'job_1')).toMatchObject({ code: 'unauthorized' });
});

test('of several that use a ticket at once, one gets through', async () => {
  const { tickets } = rig();
  const { ticket } = await tickets.mint(CALLER, 'job_1');
  const redeemed = await Promise.all(Array.from({ length: 20 }, () => tickets.redeem(ticket, 'job_1')));
  expect(redeemed.filter((caller) => 'tenant' in caller)).toHaveLength(1);
});

test('a ticket for another job is refused, and is spent', async () => {
  const { tickets } = rig();
  const { ticket } = await tickets.mint(CALLER, 'job_1');
  expect(await tickets.redeem(ticket, 'job_2')).toMatchObject({ code: 'unauthorized' });
  expect(await tickets.redeem(ticket, 'job_1')).toMatchObject({ code: 'unauthorized' });
});

test('a ticket is good to its last millisecond, and no longer', async () => {
  const { tickets, pass } = rig();
  const [first, second] = [await tickets.mint(CALLER, 'job_1'), await tickets.mint(CALLER, 'job_1')];
  pass(streamTicketSeconds * 1000 - 1);
  expect(await tickets.redeem(first.ticket, 'job_1')).toEqual(CALLER);
  pass(1);
  expect(await tickets.redeem(second.ticket, 'job_1')).toMatchObject({ code: 'unauthorized' });
});

test.each(['', 'x', '../../etc', 'a'.repeat(10_000), "' OR 1=1 --"])('%j is no ticket', async (ticket) => {
  expect(await rig().tickets.redeem(ticket, 'job_1')).toMatchObject({ code: 'unauthorized' });
});
