/** The row of a job whose program may call tools. */
import type { RequestedSpec } from '@vouchbox/protocol';
import { insertOf, JOB } from '../by-column.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';

const insertTools = insertOf('job_tools', [...JOB, 'answered_by', 'result_schemas', 'call_bytes', 'bytes_left']);

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
