/** The jobs of a tenant, newest first, in pages that stay in place while new jobs arrive. Spec § GET /v1/jobs. */
import type { JobList, JobListItem } from '@svc/protocol';
import type { JobSummary } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import type { ListQuery } from '../jobs.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';

/** One page; `next_cursor` is null on the last one. Rejects as `decodeCursor` does. */
export async function list(store: Pick<Store, 'list'>, tenant: string, query: ListQuery): Promise<JobList> {
  const { limit, cursor, statuses, language } = query;
  const before = cursor === null ? null : decodeCursor(tenant, cursor);
  // One more than asked for tells whether there is a next page.
  const rows = await store.list({ tenant, limit: limit + 1, before, statuses, language });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const hasMore = rows.length > limit && last !== undefined;
  return { items: page.map(listItem), next_cursor: hasMore ? encodeCursor(tenant, last) : null };
}

function listItem(row: JobSummary): JobListItem {
  return {
    job_id: row.job_id,
    status: row.status,
    language: row.language,
    runtime: row.runtime,
    created_at: row.created_at,
    started_at: row.started_at,
    finished_at: row.finished_at,
    duration_ms: row.duration_ms,
    exit_code: row.exit_code,
    terminal_reason: row.terminal_reason,
    truncated: row.truncated,
    attestation_available: row.attestation_available,
  };
}
