/**
 * Stream tickets: each is short-lived, opens one stream of one job, and is spent by its first use. They keep the credential out
 * of WebSocket addresses. The store keeps a ticket's digest, and the caller whose authority the ticket has. So a ticket minted
 * before a restart opens a stream after it. Spec § Authentication 6.
 */
import { randomBytes } from 'node:crypto';
import { sha256Hex } from '@vouchbox/evidence';
import { streamTicketSeconds } from '@vouchbox/protocol';
import type { Caller } from '../ground/caller.ts';
import { ServiceError } from '../ground/service-error.ts';
import type { Store } from '../store/store.ts';
import type { Access } from './authenticate.ts';

/** A ticket as its bearer gets it. `expires_at` is RFC 3339 UTC with milliseconds. */
export interface MintedTicket {
  readonly ticket: string;
  readonly expires_at: string;
  readonly expires_in: number;
}

export interface Tickets {
  /** Makes a ticket for this caller and job. Resolves when it is on disk, or to null if the caller's tenant has no such job. */
  mint(caller: Caller, job_id: string): Promise<MintedTicket | null>;
  /**
   * Spends a ticket, even a refused one, and returns the ticket's caller. A refusal is always `unauthorized`, for
   * example if the authority that minted the ticket has ended since.
   */
  redeem(ticket: string, job_id: string): Promise<Caller | ServiceError>;
}

export interface TicketsOptions {
  readonly rows: Pick<Store, 'storeTicket' | 'consumeTicket'>;
  readonly access: Pick<Access, 'pledge' | 'redeem'>;
  /** The time of day in milliseconds. */
  readonly now?: () => number;
}

const TICKET_BYTES = 32;
const TICKET = /^[A-Za-z0-9_-]{43}$/;

/** Both methods reject with the store's failures. */
export function createTickets({ rows, access, now = Date.now }: TicketsOptions): Tickets {
  return {
    async mint(caller, job_id) {
      const ticket = randomBytes(TICKET_BYTES).toString('base64url');
      const created = now();
      const [created_at, expires_at] = [timestamp(created), timestamp(created + streamTicketSeconds * 1000)];
      const pledge = access.pledge(caller, ticket);
      const row = { ticket_sha256: sha256Hex(ticket), job_id, caller: pledge, created_at, expires_at };
      return (await rows.storeTicket(row)) ? { ticket, expires_at, expires_in: streamTicketSeconds } : null;
    },
    async redeem(ticket, job_id) {
      const use = { ticket_sha256: sha256Hex(ticket), job_id, now: timestamp(now()) };
      const pledge = TICKET.test(ticket) ? await rows.consumeTicket(use) : null;
      const caller = pledge === null ? null : await access.redeem(pledge, ticket);
      return caller ?? new ServiceError('unauthorized', 'The ticket is unknown, spent or expired.');
    },
  };
}

/** RFC 3339 UTC with milliseconds. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
