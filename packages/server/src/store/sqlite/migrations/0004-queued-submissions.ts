/**
 * Digests the submissions of queued jobs, for their receipts. This version will run these jobs with the stored program, and with
 * defaults for missing members, so it knows their whole specifications. Spec § Receipt.
 */
import { canonicalJson } from '@vouchbox/evidence';
import type { Language, StoredSpec } from '@vouchbox/protocol';
import { sql } from 'kysely';
import { submissionEvidence } from '../../jobs/submission-evidence.ts';
import { wholeSpec } from '../../jobs/whole-spec.ts';
import type { JobKey } from '../../records/rows.ts';
import type { StoreDatabase } from '../../schema.ts';

/** Digests the submission of every queued job, one at a time, because each may be large. */
export async function digestQueuedSubmissions(db: StoreDatabase): Promise<void> {
  const { rows } = await sql<JobKey>`select tenant, job_id from queue`.execute(db);
  for (const job of rows) await digestSubmission(db, job);
}

async function digestSubmission(db: StoreDatabase, { tenant, job_id }: JobKey): Promise<void> {
  const { rows } = await sql<{ language: Language; runtime: string | null; requested_spec: string }>`
    select j.language, j.runtime, s.requested_spec from jobs as j join job_specs as s using (tenant, job_id)
    where j.tenant = ${tenant} and j.job_id = ${job_id}`.execute(db);
  for (const { requested_spec: kept, ...job } of rows) {
    const requested_spec = JSON.parse(kept) as StoredSpec;
    // A row without a program will not run, so it needs no evidence.
    if (requested_spec.code === undefined) continue;
    const evidence = canonicalJson(submissionEvidence(wholeSpec({ ...job, requested_spec }), new Map()));
    await sql`update job_specs set evidence = ${evidence}
      where tenant = ${tenant} and job_id = ${job_id}`.execute(db);
  }
}
