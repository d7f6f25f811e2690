/** The tenant's gradings, newest first. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { countOf } from '@vouchbox/protocol/words';
import { Link } from 'wouter';
import { Failure } from '../parts/failure.tsx';
import { Moment } from '../parts/moment.tsx';
import { Page } from '../parts/page.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { Table } from '../parts/table.tsx';
import { useCaller } from '../session/session.ts';

/** The number of gradings on a page, and the milliseconds until the first page is read again. */
const pageGradings = 50;
const againMilliseconds = 5000;

export function GradingsPage() {
  const { client, isLive } = useCaller();
  const { data, error, isLoading, isFetchingNextPage, hasNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['gradings'],
    queryFn: ({ pageParam, signal }) => client.gradings({ limit: pageGradings, cursor: pageParam, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    enabled: isLive,
    // Once older gradings are loaded, a refetch would read every page again.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : againMilliseconds),
  });
  const gradings = data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <Page title="Gradings">
      {error !== null && <Failure error={error} />}
      {gradings.length === 0 && error === null && (
        <p className="soft" role="status">
          {isLoading ? 'Loading gradings…' : 'No gradings yet. One that you send appears here.'}
        </p>
      )}
      {gradings.length > 0 && (
        <Table columns={['Status', 'Grading', 'Programs', 'Tests', 'Runs', 'Created']} label="Gradings as a table">
          {gradings.map(({ grading_id, status, programs, tests, runs, runs_ended, created_at }) => (
            <tr key={grading_id}>
              <td>
                <StatusBadge status={status} />
              </td>
              <th scope="row">
                <Link href={`/gradings/${grading_id}`} className="mono grading-link">
                  {grading_id}
                </Link>
              </th>
              <td className="number">{countOf(programs)}</td>
              <td className="number">{countOf(tests)}</td>
              <td className="number">
                {countOf(runs_ended)} of {countOf(runs)}
              </td>
              <td>
                <Moment at={created_at} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {hasNextPage && (
        <div>
          <button
            className="button"
            type="button"
            disabled={isFetchingNextPage}
            onClick={() => void fetchNextPage().catch(() => {})}
          >
            Older gradings
          </button>
        </div>
      )}
    </Page>
  );
}
