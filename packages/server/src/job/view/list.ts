/** The jobs of a tenant, newest first, in pages that stay in place while new jobs arrive. Spec § GET /v1/jobs. */
import type { Store } from '../../store/store.ts';
import type { ListQuery } from '../jobs.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';

export interface ListOptions {
  readonly store: Pick<Store, 'list'>;
}

/** One page as the JSON text of a `JobList`; `next_cursor` is null on the last one. Rejects as `decodeCursor` does. */
export async function list(tenant: string, query: ListQuery, { store }: ListOptions): Promise<string> {
  const { limit, cursor, statuses, language } = query;
  const before = cursor === null ? null : decodeCursor(tenant, cursor);
  const { items, next } = await store.list({ tenant, limit, before, statuses, language });
  const next_cursor = next === null ? null : encodeCursor(tenant, next);
  return `{"items":${items},"next_cursor":${JSON.stringify(next_cursor)}}`;
}
