/** A call of one operation, in the types that the contract has for it, as the exchange that it is. */
import type { BodyOf, JobOperationId, MediaTypeOf, OperationId, QueryOf, StatusOf } from '@vouchbox/protocol';
import { ENDPOINTS, jobPath } from '@vouchbox/protocol/vocabulary';
import type { Exchange } from './transport.ts';

/** What an operation takes in its query; what is undefined is not sent. */
export type Query<Id extends OperationId> = {
  readonly [Name in keyof QueryOf<Id>]: Readonly<QueryOf<Id>[Name]> | undefined;
};

/** What an operation is called with: its job, its query and its body where it has them. */
export type OperationCall<Id extends OperationId> = {
  readonly signal?: AbortSignal | undefined;
  readonly query?: Query<Id>;
  readonly body?: BodyOf<Id>;
  readonly idempotencyKey?: string;
  /** Left out, JSON. */
  readonly accept?: MediaTypeOf<Id> | '*/*';
  /** A status beside the successful ones whose body is an answer. */
  readonly answerStatus?: StatusOf<Id>;
} & (Id extends JobOperationId ? { readonly job_id: string } : unknown);

/** The request that a call makes. */
export function exchangeOf<Id extends OperationId>(
  id: Id,
  call: OperationCall<Id>,
): Omit<Exchange, 'timeoutMilliseconds'> {
  const { query, idempotencyKey, accept, job_id, ...rest } = call as OperationCall<'submitJob'> & { job_id?: string };
  const path = job_id === undefined ? ENDPOINTS[id].path : jobPath(id as JobOperationId, job_id);
  const headers = {
    ...(accept !== undefined && { accept }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  };
  return { method: ENDPOINTS[id].method, path: `${path}${search(query ?? {})}`, headers, ...rest };
}

/** A list is one parameter, its words between commas. */
function search(query: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const parameters = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}
