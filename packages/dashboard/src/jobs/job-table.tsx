/** Jobs as rows. However many jobs are loaded, the page contains only the rows in sight. */
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import type { JobListItem } from '@vouchbox/client';
import { amountOf, countOf } from '@vouchbox/protocol/words';
import { useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from 'react';
import { JobRow } from './job-row.tsx';
import './jobs.css';

interface Loaded {
  readonly loadedCount: number;
  readonly isComplete: boolean;
  readonly isLoading: boolean;
  /** Whether the person has chosen a status, a language, a label or a time. */
  readonly isFiltered: boolean;
  /** Whether the person is searching for a part of an id. */
  readonly isNarrowed: boolean;
}

interface JobTableProps extends Loaded {
  readonly jobs: readonly JobListItem[];
  /** Called when the last rows are in sight. */
  readonly onEnd: () => void;
}

/** The height of a row in pixels, as in `jobs.css`: in a wide window, and in a narrow one, where a row has three lines. */
const wideRowPixels = 28;
const narrowRowPixels = 76;
/** How many rows outside the window are drawn. When only that many rows are left, more jobs are loaded. */
const rowsAround = 12;

const COLUMNS = ['Status', 'Job', 'Program', 'Language', 'Created', 'Duration', 'Exit code'];

export function JobTable({ jobs, onEnd, ...loaded }: JobTableProps) {
  const body = useRef<HTMLDivElement>(null);
  const rowPixels = useMedia('(max-width: 60rem)') ? narrowRowPixels : wideRowPixels;
  const top = useTop(body);
  const rows = useWindowVirtualizer({
    count: jobs.length,
    estimateSize: () => rowPixels,
    overscan: rowsAround,
    scrollMargin: top,
    getItemKey: (index) => jobs[index]?.job_id ?? index,
  });
  useEffect(() => rows.measure(), [rows, rowPixels]);
  const items = rows.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= jobs.length - rowsAround) onEnd();
  }, [last, jobs.length, onEnd]);
  return (
    <div className="jobs">
      <p className="small soft" role="status">
        {summaryOf(jobs.length, loaded)}
      </p>
      <div role="table" aria-label="Jobs" aria-rowcount={loaded.isComplete ? jobs.length + 1 : -1}>
        <div role="rowgroup">
          <div role="row" aria-rowindex={1} className="job-row job-heads">
            {COLUMNS.map((name) => (
              <span key={name} role="columnheader">
                {name}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" ref={body} className="job-rows" style={{ blockSize: rows.getTotalSize() }}>
          {items.map(({ index, start }) => {
            const job = jobs[index];
            return job && <JobRow key={job.job_id} job={job} index={index} offset={start - top} />;
          })}
        </div>
      </div>
    </div>
  );
}

function summaryOf(shown: number, { loadedCount, isComplete, isLoading, isFiltered, isNarrowed }: Loaded): string {
  if (loadedCount === 0 && isLoading) return 'Loading jobs…';
  if (loadedCount === 0) return isFiltered ? 'No jobs match.' : 'No jobs yet.';
  const count = isComplete
    ? amountOf(loadedCount, 'job')
    : `${amountOf(loadedCount, 'newest job')} loaded; scroll for older ones`;
  return isNarrowed ? `${countOf(shown)} of ${count} have this in their id` : count;
}

/** Where the rows begin, in pixels from the top of the page. */
function useTop(element: React.RefObject<HTMLElement | null>): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setTop((element.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [element]);
  return top;
}

/** Whether a media query matches the window, now and after each change. */
function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const list = matchMedia(query);
      list.addEventListener('change', listener);
      return () => list.removeEventListener('change', listener);
    },
    () => matchMedia(query).matches,
  );
}
