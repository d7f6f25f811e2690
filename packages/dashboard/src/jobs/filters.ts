/** Which jobs the list shows. The filters are part of the address, so that people can share a list or go back to it. */
import type { JobStatus, Language } from '@vouchbox/client';
import { JOB_STATUSES, LANGUAGES } from '@vouchbox/protocol/vocabulary';

export interface Filters {
  readonly status?: readonly JobStatus[] | undefined;
  readonly language?: Language | undefined;
  readonly label?: string | undefined;
  /** How old a job may be. */
  readonly since?: Since | undefined;
}

/** The spans of time by name, in milliseconds. */
export const SINCE = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000, month: 30 * 86_400_000 } as const;
export type Since = keyof typeof SINCE;

export function isSince(name: string | null): name is Since {
  return name !== null && Object.hasOwn(SINCE, name);
}

/** The filters in an address. Anything else in the address is ignored. */
export function readFilters(search: URLSearchParams): Filters {
  const given = (search.get('status') ?? '').split(',');
  const status = JOB_STATUSES.filter((known) => given.includes(known));
  const language = LANGUAGES.find((known) => known === search.get('language'));
  const label = search.get('label');
  const since = search.get('since');
  return {
    ...(status.length > 0 && { status }),
    ...(language !== undefined && { language }),
    ...(label && { label }),
    ...(isSince(since) && { since }),
  };
}

/** The query of an address. Empty filters are left out. */
export function writeFilters({ status, language, label, since }: Filters): URLSearchParams {
  return new URLSearchParams({
    ...(status && { status: status.join(',') }),
    ...(language && { language }),
    ...(label && { label }),
    ...(since && { since }),
  });
}

/** The address of the list of jobs with this label. */
export function addressOfLabel(label: string): string {
  return `/jobs?${writeFilters({ label })}`;
}
