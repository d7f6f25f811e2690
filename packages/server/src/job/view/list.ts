/** A tenant's jobs, newest first, in pages that do not shift when new jobs arrive. Spec § GET /v1/jobs. */
import type { FilledQueryOf, JobList } from '@vouchbox/protocol';
import { type JsonText, jsonText, Spelled } from '../../ground/json-text.ts';
import type { ListPage } from '../../store/records/answers.ts';
import type { Store } from '../../store/store.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';

export interface ListOptions {
  readonly store: Pick<Store, 'list'>;
}

/** The texts made for pages, in case a page is requested again. */
const texts = new WeakMap<ListPage, JsonText<JobList>>();

/** One page. `next_cursor` is null on the last page. Rejects with what `decodeCursor` throws. */
export async function list(
  tenant: string,
  query: FilledQueryOf<'listJobs'>,
  { store }: ListOptions,
): Promise<JsonText<JobList>> {
  const { limit, cursor, status: statuses = null, language = null, label = null } = query;
  const before = cursor === undefined ? null : decodeCursor(tenant, cursor);
  return textOf(tenant, await store.list({ tenant, limit, before, statuses, language, label }));
}

function textOf(tenant: string, page: ListPage): JsonText<JobList> {
  const known = texts.get(page);
  if (known !== undefined) return known;
  const { items, next } = page;
  const next_cursor = next === null ? null : encodeCursor(tenant, next);
  const text = jsonText<JobList>({ items: new Spelled(items), next_cursor });
  texts.set(page, text);
  return text;
}
