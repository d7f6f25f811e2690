/** How the service is doing, as it happens. */

import { Failure } from '../parts/failure.tsx';
import { Page } from '../parts/page.tsx';
import { Panel } from '../parts/panel.tsx';
import { CanariesPanel } from './canaries-panel.tsx';
import { NodesPanel } from './nodes-panel.tsx';
import { NowPanel } from './now-panel.tsx';
import { RecentJobs } from './recent-jobs.tsx';
import { ServiceMetrics } from './service-metrics.tsx';
import { TenantPanel } from './tenant-panel.tsx';
import { TimeChart } from './time-chart.tsx';
import { useSamples } from './use-samples.ts';
import './status.css';

export function StatusPage() {
  const { status, samples, error } = useSamples();
  const times = samples.map(({ at }) => at / 1000);
  return (
    <Page title="Status">
      {error !== null && <Failure error={error} />}
      <div className="panels">
        {status && <NowPanel status={status} />}
        <TenantPanel />
        {status?.nodes !== undefined && status.nodes.length > 1 && (
          <NodesPanel nodes={status.nodes} isSigning={status.signer.enabled} />
        )}
        {status?.canaries !== undefined && status.canaries.length > 0 && <CanariesPanel canaries={status.canaries} />}
        <Panel title="Queue and running jobs">
          <TimeChart
            label="Jobs waiting and running"
            times={times}
            series={[
              { name: 'queued', tone: 'warn', values: samples.map(({ depth }) => depth) },
              { name: 'running', tone: 'busy', values: samples.map(({ running }) => running) },
            ]}
          />
        </Panel>
        <Panel title="Parked cells">
          <TimeChart
            label="Cells kept ready"
            times={times}
            series={[{ name: 'parked', tone: 'good', values: samples.map(({ parked }) => parked) }]}
          />
          <p className="small soft">They were made ahead of time, so that a job need not wait for its cell.</p>
        </Panel>
        <RecentJobs />
        <ServiceMetrics />
      </div>
    </Page>
  );
}
