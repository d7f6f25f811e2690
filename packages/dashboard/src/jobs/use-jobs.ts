/** The jobs that were loaded so far. The newest jobs are read again and again; older ones are read once, page by page. */
import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import type { JobListItem } from '@vouchbox/client';
import { useCallback, useEffect, useMemo } from 'react';
import { useCaller } from '../session/session.ts';
import { type Filters, SINCE } from './filters.ts';

/** The number of jobs on a page. */
const pageJobs = 200;
/** How many of the newest jobs are read again and again, and the milliseconds between two such reads. */
const newestJobs = 50;
const newestMilliseconds = 3000;

export interface LoadedJobs {
  readonly jobs: readonly JobListItem[];
  /** Whether all jobs were loaded. */
  readonly isComplete: boolean;
  readonly isLoading: boolean;
  readonly error: unknown;
  readonly loadMore: () => void;
  readonly startAgain: () => void;
}

/** Jobs come newest first, so jobs older than the chosen time are not requested. */
export function useJobs({ since, ...filters }: Filters): LoadedJobs {
  const { client, isLive } = useCaller();
  const isFresh = ({ created_at }: JobListItem) =>
    since === undefined || Date.parse(created_at) >= Date.now() - SINCE[since];
  const queries = useQueryClient();
  const pages = useInfiniteQuery({
    queryKey: ['jobs', 'pages', filters, since],
    queryFn: ({ pageParam, signal }) => client.list({ ...filters, limit: pageJobs, cursor: pageParam, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ items, next_cursor }) => (items.every(isFresh) ? (next_cursor ?? undefined) : undefined),
    enabled: isLive,
    // The newest jobs are read again below. To read all pages again would need one request for each page.
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
  });
  const newest = useQuery({
    queryKey: ['jobs', 'newest', filters],
    queryFn: ({ signal }) => client.list({ ...filters, limit: newestJobs, signal }),
    enabled: isLive && pages.isSuccess,
    refetchInterval: newestMilliseconds,
  });
  const startAgain = useCallback(() => void queries.resetQueries({ queryKey: ['jobs'] }), [queries]);
  const jobs = useMemo(
    () => joined(newest.data?.items ?? [], pages.data?.pages.flatMap(({ items }) => items) ?? []),
    [newest.data, pages.data],
  );
  const known = jobs ?? newest.data?.items ?? [];
  const isTorn = jobs === null;
  useEffect(() => {
    if (isTorn) startAgain();
  }, [isTorn, startAgain]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages;
  const loadMore = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return {
    jobs: since === undefined ? known : known.filter(isFresh),
    isComplete: pages.isSuccess && !hasNextPage,
    isLoading: pages.isLoading || isFetchingNextPage,
    error: pages.error ?? newest.error,
    loadMore,
    startAgain,
  };
}

/**
 * The newest jobs and the older ones, each job once, as it was last read. Null if none of the newest jobs is among the
 * loaded ones, because jobs between the two may then be missing.
 */
function joined(newest: readonly JobListItem[], loaded: readonly JobListItem[]): readonly JobListItem[] | null {
  if (newest.length === 0) return loaded;
  const ids = new Set(newest.map(({ job_id }) => job_id));
  const older = loaded.filter(({ job_id }) => !ids.has(job_id));
  const isJoined = newest.length < newestJobs || older.length < loaded.length;
  return isJoined ? [...newest, ...older] : null;
}
