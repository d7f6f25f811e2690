/** The jobs of the tenant, newest first. */
import { getRouteApi } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { Failure } from '../parts/failure.tsx';
import { Page } from '../parts/page.tsx';
import { JobFilters } from './job-filters.tsx';
import { JobSearch } from './job-search.tsx';
import { JobTable } from './job-table.tsx';
import { useJobs } from './use-jobs.ts';

const route = getRouteApi('/jobs');

export function JobsPage() {
  const filters = route.useSearch();
  const navigate = route.useNavigate();
  const [sought, setSought] = useState('');
  const { jobs, isComplete, isLoading, error, loadMore, startAgain } = useJobs(filters);
  const shown = useMemo(() => jobs.filter(({ job_id }) => job_id.includes(sought)), [jobs, sought]);
  return (
    <Page
      title="Jobs"
      actions={
        <button className="button" type="button" onClick={startAgain}>
          Refresh
        </button>
      }
    >
      <div className="stack">
        <JobSearch sought={sought} onSeek={setSought} />
        <JobFilters filters={filters} onChange={(next) => void navigate({ search: next, replace: true })} />
      </div>
      {error !== null && <Failure error={error} />}
      <JobTable
        jobs={shown}
        loadedCount={jobs.length}
        isComplete={isComplete}
        isLoading={isLoading}
        onEnd={loadMore}
        isNarrowed={sought !== ''}
      />
    </Page>
  );
}
