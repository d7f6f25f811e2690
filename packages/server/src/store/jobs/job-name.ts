import type { JobKey } from '../records/rows.ts';

/** The key of a job as one text. It is unique because no tenant and no identifier contains a space. */
export function nameOfJob({ tenant, job_id }: JobKey): string {
  return `${tenant} ${job_id}`;
}
