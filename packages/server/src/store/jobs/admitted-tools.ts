/** The row of a job whose program may call tools. */
import type { RequestedSpec } from '@vouchbox/protocol';
import { prepared } from '../prepared.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import type { JobToolsTable } from '../schema-of-tools.ts';

const insertTools = prepared((db, row: JobToolsTable) =>
  db.insertInto('job_tools').values({
    tenant: row.tenant,
    job_id: row.job_id,
    answered_by: row.answered_by,
    call_bytes: row.call_bytes,
    bytes_left: row.bytes_left,
  }),
);

/** Says who may answer, and how much; part of the transaction that accepts the job. */
export function admitTools(db: StoreDatabase, key: JobKey, tools: NonNullable<RequestedSpec['tools']>): void {
  const { call_bytes, total_bytes } = tools.limits;
  insertTools.send(db, { ...key, answered_by: JSON.stringify(tools.answered_by), call_bytes, bytes_left: total_bytes });
}
