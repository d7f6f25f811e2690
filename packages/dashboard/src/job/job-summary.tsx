/** What a job is and when it was. */
import type { JobDetail } from '@vouchbox/client';
import { printable } from '@vouchbox/protocol/vocabulary';
import { Facts } from '../parts/facts.tsx';
import { Moment } from '../parts/moment.tsx';
import { durationOf } from '../words/amounts.ts';

export function JobSummary({ job }: { readonly job: JobDetail }) {
  return (
    <Facts
      facts={[
        ['Language', job.language],
        ['Runtime', job.runtime === null ? 'the default' : printable(job.runtime)],
        ['Tenant', printable(job.tenant)],
        ['Created', <Moment key="at" at={job.created_at} />],
        ['Started', <Moment key="at" at={job.started_at} />],
        ['Finished', <Moment key="at" at={job.finished_at} />],
        ['Duration', durationOf(job.duration_ms)],
        ['Exit code', job.exit_code ?? '—'],
        ['Signal', job.signal === null ? '—' : printable(job.signal)],
      ]}
    />
  );
}
