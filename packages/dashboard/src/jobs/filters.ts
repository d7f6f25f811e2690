/** Which jobs the list shows. It is part of the address, so that a list can be shared and gone back to. */
import type { JobStatus, Language } from '@vouchbox/client';
import { JOB_STATUSES, LANGUAGES } from '@vouchbox/protocol/vocabulary';

export interface Filters {
  readonly status?: readonly JobStatus[] | undefined;
  readonly language?: Language | undefined;
  readonly label?: string | undefined;
}

/** The filters in an address. Anything that is not a status, a language or a label is left out. */
export function readFilters(search: URLSearchParams): Filters {
  const given = (search.get('status') ?? '').split(',');
  const status = JOB_STATUSES.filter((known) => given.includes(known));
  const language = LANGUAGES.find((known) => known === search.get('language'));
  const label = search.get('label');
  return { ...(status.length > 0 && { status }), ...(language !== undefined && { language }), ...(label && { label }) };
}

/** The query of an address. What filters nothing is left out. */
export function writeFilters({ status, language, label }: Filters): URLSearchParams {
  return new URLSearchParams({
    ...(status && { status: status.join(',') }),
    ...(language && { language }),
    ...(label && { label }),
  });
}

/** The list of the jobs that have a label. */
export function addressOfLabel(label: string): string {
  return `/jobs?${writeFilters({ label })}`;
}
