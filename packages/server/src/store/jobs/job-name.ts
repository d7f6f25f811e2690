import type { JobKey } from '../records.ts';

/** One name for the key of a job: no tenant and no identifier has a space in it. */
export function nameOfJob({ tenant, job_id }: JobKey): string {
  return `${tenant} ${job_id}`;
}
