/** How the tenant's last jobs ended, and how long they took. */
import { useQuery } from '@tanstack/react-query';
import type { JobListItem } from '@vouchbox/client';
import { durationOf } from '@vouchbox/protocol/words';
import { useMemo } from 'react';
import { Failure } from '../parts/failure.tsx';
import { Panel } from '../parts/panel.tsx';
import { useCaller } from '../session/session.ts';
import { Outcomes } from './outcomes.tsx';
import { TimeChart } from './time-chart.tsx';

/** How many jobs are requested, and after how many milliseconds they are requested again. */
const jobsMax = 200;
const askedMilliseconds = 5000;

export function RecentJobs() {
  const { client, whoami, isLive } = useCaller();
  const mayRead = whoami.scopes.includes('jobs:read');
  const { data, error } = useQuery({
    queryKey: ['recent'],
    queryFn: ({ signal }) => client.list({ limit: jobsMax, signal }),
    enabled: isLive && mayRead,
    refetchInterval: askedMilliseconds,
  });
  const ended = useMemo(() => endedOf(data?.items ?? []), [data]);
  return (
    <>
      <Panel title="Outcomes of your last jobs">
        <Outcomes counts={countsOf(data?.items ?? [])} />
      </Panel>
      <Panel title="Durations of your last jobs" isWide>
        {error !== null && <Failure error={error} />}
        {ended.length === 0 ? (
          <p className="soft">There are none yet.</p>
        ) : (
          <TimeChart
            label="How long each of the last jobs took"
            times={ended.map(({ at }) => at)}
            words={durationOf}
            series={[{ name: 'the last', tone: 'accent', values: ended.map(({ ms }) => ms), isPoints: true }]}
          />
        )}
      </Panel>
    </>
  );
}

/** Jobs that ran, in the order in which they ended. */
function endedOf(jobs: readonly JobListItem[]) {
  return jobs
    .flatMap(({ finished_at, duration_ms }) =>
      finished_at === null || duration_ms === null ? [] : [{ at: Date.parse(finished_at), ms: duration_ms }],
    )
    .sort((one, other) => one.at - other.at);
}

function countsOf(jobs: readonly JobListItem[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { status } of jobs) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
}
