/** Stream tickets: stored as hashes, and deleted when used. Spec § Authentication 6. */
import type { Whoami } from '@vouchbox/protocol';
import { deleteExpired, insertOf } from '../by-column.ts';
import { jobSummary } from '../jobs/jobs.ts';
import { prepared } from '../prepared.ts';
import type { StreamTicketInput } from '../records/inputs.ts';
import type { StoreDatabase } from '../schema.ts';
import { AUTHORITY, authorityOf, callerOf } from './authority.ts';

interface TicketUse extends Pick<StreamTicketInput, 'ticket_sha256' | 'job_id'> {
  readonly now: string;
}

const forgetSome = deleteExpired('stream_tickets', 'ticket_sha256');

const COLUMNS = [...AUTHORITY, 'job_id', 'expires_at'] as const;

const insertTicket = insertOf('stream_tickets', ['ticket_sha256', ...COLUMNS]);

const takeTicket = prepared((db, { ticket_sha256 }: Pick<TicketUse, 'ticket_sha256'>) =>
  db.deleteFrom('stream_tickets').where('ticket_sha256', '=', ticket_sha256).returning(COLUMNS),
);

/** Stores a ticket and deletes some expired ones. False if the caller's tenant has no such job. */
export async function storeTicket(db: StoreDatabase, input: StreamTicketInput): Promise<boolean> {
  const { ticket_sha256, job_id, caller, created_at, expires_at } = input;
  if ((await jobSummary(db, { tenant: caller.tenant, job_id })) === null) return false;
  forgetSome.send(db, { now: created_at });
  insertTicket.send(db, { ticket_sha256, job_id, ...authorityOf(caller), expires_at });
  return true;
}

/** Uses up a ticket, even if the ticket is refused. Null if the ticket is unknown, used, expired or for another job. */
export async function consumeTicket(
  db: StoreDatabase,
  { ticket_sha256, job_id, now }: TicketUse,
): Promise<Whoami | null> {
  const ticket = await takeTicket.first(db, { ticket_sha256 });
  if (ticket === null || ticket.job_id !== job_id || ticket.expires_at <= now) return null;
  return callerOf(ticket);
}
