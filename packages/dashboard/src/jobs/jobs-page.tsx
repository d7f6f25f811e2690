/** The tenant's jobs, newest first. */

import { useMemo, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { Failure } from '../parts/failure.tsx';
import { Page } from '../parts/page.tsx';
import { type Filters, readFilters, writeFilters } from './filters.ts';
import { FirstRun } from './first-run.tsx';
import { JobFilters } from './job-filters.tsx';
import { JobSearch } from './job-search.tsx';
import { JobTable } from './job-table.tsx';
import { useJobs } from './use-jobs.ts';

export function JobsPage() {
  const [search, setSearch] = useSearchParams();
  const filters = useMemo(() => readFilters(search), [search]);
  const isFiltered = Object.values(filters).some((filter) => filter !== undefined);
  const [sought, setSought] = useState('');
  const word = sought.trim();
  const { jobs, isComplete, isLoading, error, loadMore, startAgain } = useJobs(filters);
  const shown = useMemo(() => jobs.filter(({ job_id }) => job_id.includes(word)), [jobs, word]);
  const setFilters = (next: Filters) => setSearch(writeFilters(next), { replace: true });
  const showLabel = (label: string) => {
    setFilters({ ...filters, label });
    setSought('');
  };
  return (
    <Page
      title="Jobs"
      actions={
        <>
          <button className="button" type="button" onClick={startAgain}>
            Refresh
          </button>
          <Link className="button primary" href="/playground">
            New job
          </Link>
        </>
      }
    >
      <div className="job-tools">
        <JobFilters filters={filters} onChange={setFilters} />
        <JobSearch sought={sought} onSeek={setSought} onLabel={showLabel} />
      </div>
      {error !== null && <Failure error={error} />}
      {isComplete && jobs.length === 0 && !isFiltered && <FirstRun />}
      <JobTable
        jobs={shown}
        loadedCount={jobs.length}
        isComplete={isComplete}
        isLoading={isLoading}
        onEnd={loadMore}
        isFiltered={isFiltered}
        isNarrowed={word !== ''}
      />
    </Page>
  );
}
