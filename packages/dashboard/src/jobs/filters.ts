/** Which jobs the list shows. It is part of the address, so that a list can be shared and gone back to. */
import type { JobStatus, Language } from '@vouchbox/client';
import { JOB_STATUSES, LANGUAGES } from '@vouchbox/protocol/vocabulary';

export interface Filters {
  readonly status?: readonly JobStatus[] | undefined;
  readonly language?: Language | undefined;
}

/** The filters in an address. What is no status and no language is left out. */
export function readFilters(search: Record<string, unknown>): Filters {
  const given = Array.isArray(search['status']) ? search['status'] : [search['status']];
  const status = JOB_STATUSES.filter((known) => given.includes(known));
  const language = LANGUAGES.find((known) => known === search['language']);
  return { ...(status.length > 0 && { status }), ...(language !== undefined && { language }) };
}
