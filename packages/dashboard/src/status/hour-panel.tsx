/** Shows what the answering node counted in the last hour. */
import type { ServiceStatus } from '@vouchbox/client';
import { durationOf } from '@vouchbox/protocol/words';
import type { ComponentProps } from 'react';
import { Panel } from '../parts/panel.tsx';
import { TimeChart } from './time-chart.tsx';

type Hour = NonNullable<ServiceStatus['last_hour']>;

const minute = 60_000;

export function HourPanel({ status, hour }: { readonly status: ServiceStatus; readonly hour: Hour }) {
  const { succeeded, ...others } = hour.ended;
  const from = Date.parse(hour.from);
  const times = succeeded.map((_, index) => from + index * minute);
  const failed = succeeded.map((_, index) =>
    Object.values(others).reduce((sum, counts) => sum + (counts[index] ?? 0), 0),
  );
  return (
    <Panel title="The last hour" isWide>
      <p className="small soft">
        By the minute, as this node has counted since its start{status.nodes && '; other nodes count their own'}. What
        ended, waited and ran are your own jobs; the queue has those of everyone.
      </p>
      <div className="charts">
        <Chart
          title="Your jobs that ended"
          label="Jobs that ended in each minute"
          times={times}
          series={[
            { name: 'succeeded', tone: 'good', values: succeeded },
            { name: 'others', tone: 'bad', values: failed },
          ]}
        />
        <Chart
          title="Queue of the service"
          label="Jobs waiting and running"
          times={times}
          series={[
            { name: 'queued', tone: 'warn', values: [...hour.queued.slice(0, -1), status.queue.depth] },
            { name: 'running', tone: 'busy', values: [...hour.running.slice(0, -1), status.running] },
          ]}
        />
        <Quantiles title="How long your jobs waited" times={times} of={hour.wait_ms} />
        <Quantiles title="How long your jobs ran" times={times} of={hour.run_ms} />
      </div>
    </Panel>
  );
}

interface QuantilesProps {
  readonly title: string;
  readonly times: readonly number[];
  readonly of: Hour['wait_ms'];
}

function Quantiles({ title, times, of: { p50, p95 } }: QuantilesProps) {
  return (
    <Chart
      title={title}
      label={title}
      times={times}
      words={durationOf}
      series={[
        { name: 'half within', tone: 'accent', values: p50 },
        { name: '95 % within', tone: 'warn', values: p95 },
      ]}
    />
  );
}

function Chart({ title, ...chart }: { readonly title: string } & ComponentProps<typeof TimeChart>) {
  return (
    <section>
      <h3>{title}</h3>
      <TimeChart {...chart} />
    </section>
  );
}
