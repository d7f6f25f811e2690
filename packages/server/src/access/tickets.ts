/**
 * Stream tickets: short-lived, for one stream of one job, spent by the first use. They keep the credential out of
 * WebSocket addresses. Only a ticket's digest is kept. Spec § Authentication 6.
 */
import { hash, randomBytes } from 'node:crypto';
import { streamTicketSeconds } from '@svc/protocol';
import type { Caller } from '../caller.ts';
import { ServiceError } from '../service-error.ts';
import { hasExpired } from './authenticate.ts';

/** What a ticket stands for. Times are RFC 3339 UTC with milliseconds. */
export interface TicketRow {
  readonly ticket_sha256: string;
  readonly job_id: string;
  readonly caller: Caller;
  readonly expires_at: string;
}

/** Where tickets are kept. */
export interface TicketRows {
  putTicket(row: TicketRow): Promise<void>;
  /** Removes the ticket and answers it: of several that ask at once, one gets it. Null where there is none. */
  takeTicket(ticket_sha256: string): Promise<TicketRow | null>;
}

export interface Tickets {
  /** A new ticket for this caller and job; whether the job is the caller's was seen to. */
  mint(caller: Caller, job_id: string): Promise<{ ticket: string; expires_at: string; expires_in: number }>;
  /** Spends a ticket, whatever comes of it. A refusal is `unauthorized`. */
  redeem(ticket: string, job_id: string): Promise<Caller | ServiceError>;
}

const TICKET_BYTES = 32;
const TICKET = /^[A-Za-z0-9_-]{43}$/;

/** Tickets over what keeps them. `now` is the time of day in milliseconds. */
export function createTickets(rows: TicketRows, now: () => number = Date.now): Tickets {
  return {
    async mint(caller, job_id) {
      const ticket = randomBytes(TICKET_BYTES).toString('base64url');
      const expires_at = new Date(now() + streamTicketSeconds * 1000).toISOString();
      await rows.putTicket({ ticket_sha256: digestOf(ticket), job_id, caller, expires_at });
      return { ticket, expires_at, expires_in: streamTicketSeconds };
    },
    async redeem(ticket, job_id) {
      const row = TICKET.test(ticket) ? await rows.takeTicket(digestOf(ticket)) : null;
      const isGood = row !== null && row.job_id === job_id && !hasExpired(row.expires_at, now());
      return isGood ? row.caller : new ServiceError('unauthorized', 'The ticket is unknown, spent or expired.');
    },
  };
}

/** Keeps tickets in this process: enough where one process answers every request. */
export function createTicketMemory(now: () => number = Date.now): TicketRows {
  const kept = new Map<string, TicketRow>();
  return {
    async putTicket(row) {
      dropExpired(kept, now());
      kept.set(row.ticket_sha256, row);
    },
    async takeTicket(ticket_sha256) {
      const row = kept.get(ticket_sha256) ?? null;
      kept.delete(ticket_sha256);
      return row;
    },
  };
}

/** All tickets live equally long and a Map keeps their order: the expired ones are the first. */
function dropExpired(kept: Map<string, TicketRow>, now: number): void {
  for (const [digest, { expires_at }] of kept) {
    if (!hasExpired(expires_at, now)) return;
    kept.delete(digest);
  }
}

function digestOf(ticket: string): string {
  return hash('sha256', ticket, 'hex');
}
