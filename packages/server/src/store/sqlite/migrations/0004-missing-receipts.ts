/**
 * Makes receipts for jobs that ended before there were receipts, so that every terminal job has a receipt and can be attested.
 * Such a receipt holds the row's outcome and times, and the summary of a chain whose events prove nothing. It makes no claim
 * about what ran. Spec § Receipt, § Events 7.
 */
import { sealReceipt } from '@vouchbox/evidence';
import { sql } from 'kysely';
import { eventChain } from '../../evidence/receipts.ts';
import type { JobTable, StoreDatabase } from '../../schema.ts';

/** How many rows are read at a time, to bound the memory of an upgrade. */
const pageRows = 500;

type Ended = Pick<
  JobTable,
  | 'tenant'
  | 'job_id'
  | 'exit_code'
  | 'signal'
  | 'terminal_reason'
  | 'created_at'
  | 'started_at'
  | 'duration_ms'
  | 'chain_head'
> & { readonly status: 'succeeded'; readonly finished_at: string; readonly stored: number; readonly hashed: number };

/** Seals and stores a receipt for every terminal job that has none. */
export async function sealMissingReceipts(db: StoreDatabase): Promise<void> {
  let last: Pick<Ended, 'tenant' | 'job_id'> | undefined = { tenant: '', job_id: '' };
  while (last !== undefined) {
    const page = await endedWithoutReceipt(db, last);
    for (const job of page) await storeReceipt(db, job);
    last = page.at(-1);
  }
}

/**
 * A page of the ended jobs that have no receipt, ordered by key. All of them are in the outbox, because a job without a receipt
 * was never attested.
 */
async function endedWithoutReceipt(
  db: StoreDatabase,
  after: Pick<Ended, 'tenant' | 'job_id'>,
): Promise<readonly Ended[]> {
  const { rows } = await sql<Ended>`
    select j.tenant, j.job_id, j.status, j.exit_code, j.signal, j.terminal_reason, j.created_at, j.started_at,
      j.finished_at, j.duration_ms, j.chain_head,
      (select count(*) from events as e where e.tenant = j.tenant and e.job_id = j.job_id) as stored,
      (select count(*) from events as e where e.tenant = j.tenant and e.job_id = j.job_id and e.hash_version = 1) as hashed
    from attestation_outbox as o join jobs as j using (tenant, job_id)
    where (o.tenant, o.job_id) > (${after.tenant}, ${after.job_id})
      and not exists (select * from receipts as r where r.tenant = o.tenant and r.job_id = o.job_id)
    order by o.tenant, o.job_id
    limit ${pageRows}`.execute(db);
  return rows;
}

async function storeReceipt(db: StoreDatabase, job: Ended): Promise<void> {
  const { stored, hashed, chain_head, ...outcome } = job;
  const { json, receipt_sha256 } = sealReceipt({
    schema_version: 4,
    ...outcome,
    event_chain: eventChain({ chain_head }, { stored, hashed }),
  });
  await sql`insert into receipts (tenant, job_id, receipt_json, receipt_sha256)
    values (${job.tenant}, ${job.job_id}, ${json}, ${receipt_sha256})`.execute(db);
}
