/** A page of a tenant's jobs as values, for tests that look into it. */
import type { JobListItem } from '@vouchbox/protocol';
import type { ListInput } from '../records/inputs.ts';
import type { Store } from '../store.ts';

/** At most 200 jobs of the tenant, newest first, unless told otherwise. */
export async function listed(
  store: Pick<Store, 'list'>,
  input: Partial<ListInput> & Pick<ListInput, 'tenant'>,
): Promise<JobListItem[]> {
  const everything = { limit: 200, before: null, statuses: null, language: null } as const;
  const { items } = await store.list({ ...everything, ...input });
  return JSON.parse(items) as JobListItem[];
}
