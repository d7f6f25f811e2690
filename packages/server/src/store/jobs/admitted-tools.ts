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
    result_schemas: row.result_schemas,
    call_bytes: row.call_bytes,
    bytes_left: row.bytes_left,
  }),
);

/** Stores who may answer the calls, and how much they may write; part of the transaction that accepts the job. */
export function admitTools(db: StoreDatabase, key: JobKey, tools: NonNullable<RequestedSpec['tools']>): void {
  const { call_bytes, total_bytes } = tools.limits;
  const schemas = tools.tools.flatMap(({ name, result }) => (result === undefined ? [] : [[name, result]]));
  insertTools.send(db, {
    ...key,
    answered_by: JSON.stringify(tools.answered_by),
    result_schemas: schemas.length === 0 ? null : JSON.stringify(Object.fromEntries(schemas)),
    call_bytes,
    bytes_left: total_bytes,
  });
}
