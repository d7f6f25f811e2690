/** How many jobs are in each status, as bars. */
import type { JobStatus } from '@vouchbox/client';
import { JOB_STATUSES } from '@vouchbox/protocol/vocabulary';
import { countOf } from '@vouchbox/protocol/words';
import { StatusBadge } from '../parts/status-badge.tsx';

export function Outcomes({ counts }: { readonly counts: ReadonlyMap<string, number> }) {
  const total = Array.from(counts.values()).reduce((sum, count) => sum + count, 0);
  const shown = JOB_STATUSES.filter((status: JobStatus) => (counts.get(status) ?? 0) > 0);
  if (total === 0) return <p className="soft">There are none yet.</p>;
  return (
    <ul className="outcomes">
      {shown.map((status) => {
        const count = counts.get(status) ?? 0;
        return (
          <li key={status} className="outcome">
            <StatusBadge status={status} />
            <span className="outcome-track">
              <span className="outcome-bar" style={{ inlineSize: `${(count / total) * 100}%` }} />
            </span>
            <span className="outcome-count">{countOf(count)}</span>
          </li>
        );
      })}
    </ul>
  );
}
