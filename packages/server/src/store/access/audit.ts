/** Recomputes every chain and every receipt's digest in the store, just as an auditor does for one job. Nothing is changed. */
import { isJsonObject, verifyChain, verifyReceipt } from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { sql } from 'kysely';
import { storedValue } from '../../ground/json-text.ts';
import { JOB, selectBy } from '../by-column.ts';
import type { ChainedJob } from '../history/events.ts';
import { storedPages } from '../history/stored-history.ts';
import { eventsOfStoredRun, isRun } from '../history/stored-runs.ts';
import { prepared } from '../prepared.ts';
import type { JobKey, StoredRun } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { StoreError } from '../store-error.ts';

const selectJobs = prepared((db, { tenant, job_id }: JobKey) =>
  db
    .selectFrom('jobs')
    .select(['tenant', 'job_id', 'chain_seq', 'chain_head'])
    .where((row) => row(row.refTuple('tenant', 'job_id'), '>', row.tuple(tenant, job_id)))
    .orderBy('tenant')
    .orderBy('job_id')
    // Bounds the memory of the audit.
    .limit(sql.lit(200)),
);

const selectReceipt = selectBy('receipts', JOB, ['receipt_json', 'receipt_sha256']);

/** @throws StoreError `corrupt`, naming the first job whose history or receipt does not match its digests. */
export async function auditStore(db: StoreDatabase): Promise<void> {
  let last: JobKey | undefined = { tenant: '', job_id: '' };
  while (last !== undefined) {
    const page: readonly ChainedJob[] = await selectJobs.all(db, last);
    for (const job of page) await auditJob(db, job);
    last = page.at(-1);
  }
}

async function auditJob(db: StoreDatabase, job: ChainedJob): Promise<void> {
  const { job_id, chain_head, chain_seq } = job;
  const events = await eventsOf(db, job);
  const chain = verifyChain(events, { job_id, head: chain_head });
  if (chain.kind === 'broken') throw damaged(`the history of ${job_id} is broken at ${chain.seq} (${chain.problem})`);
  if (events.length !== chain_seq) throw damaged(`the history of ${job_id} does not end where its row says`);
  const stored = await selectReceipt.first(db, job);
  if (stored === null) return;
  const receipt = storedValue(stored.receipt_json);
  const isWhole = isJsonObject(receipt) && verifyReceipt(receipt).kind === 'intact';
  if (!isWhole || receipt['receipt_sha256'] !== stored.receipt_sha256) {
    throw damaged(`the receipt of ${job_id} does not have its digest`);
  }
}

async function eventsOf(db: StoreDatabase, { tenant, job_id }: ChainedJob): Promise<JobEvent[]> {
  // Reads all stored events of the job, whatever its row says.
  const range = { tenant, job_id, after: 0, until: eventsMax };
  const events: JobEvent[] = [];
  for await (const page of storedPages(db, range)) {
    for (const part of page) {
      if (isRun(part)) events.push(...eventsOfReadRun(job_id, part));
      else events.push({ ...part, data: storedValue(part.data) });
    }
  }
  return events;
}

/** @throws StoreError if the stored bytes are not a run. */
function eventsOfReadRun(job_id: string, run: StoredRun): readonly JobEvent[] {
  try {
    return [...eventsOfStoredRun(job_id, run)];
  } catch {
    throw damaged(`the output of ${job_id} after event ${run.seq - 1} cannot be read`);
  }
}

/** A bound above the number of events of any job. */
const eventsMax = 2 ** 31 - 1;

function damaged(what: string): StoreError {
  return new StoreError('corrupt', `the store is damaged: ${what}`);
}
