/** Tickets in memory, for tests of the HTTP side alone. */
import type { TicketsOptions } from '../access/tickets.ts';

/** Tickets that are kept as the store would keep them, but without a store. */
export function memoryTickets(job: string): TicketsOptions['rows'] {
  const kept = new Map<string, Parameters<TicketsOptions['rows']['storeTicket']>[0]>();
  return {
    async storeTicket(row) {
      const isOwned = row.caller.tenant === 'acme' && row.job_id === job;
      if (isOwned) kept.set(row.ticket_sha256, row);
      return isOwned;
    },
    async consumeTicket({ ticket_sha256, job_id, now }) {
      const row = kept.get(ticket_sha256);
      kept.delete(ticket_sha256);
      return row?.job_id === job_id && row.expires_at > now ? row.caller : null;
    },
  };
}
