/** The live status of the service. */
import { useQuery } from '@tanstack/react-query';
import { Failure } from '../parts/failure.tsx';
import { Page } from '../parts/page.tsx';
import { useCaller } from '../session/session.ts';
import { CanariesPanel } from './canaries-panel.tsx';
import { HourPanel } from './hour-panel.tsx';
import { NodesPanel } from './nodes-panel.tsx';
import { NowPanel } from './now-panel.tsx';
import { RecentJobs } from './recent-jobs.tsx';
import { ServiceMetrics } from './service-metrics.tsx';
import { TenantPanel } from './tenant-panel.tsx';
import './status.css';

const askedMilliseconds = 2000;

/** The service's status. It is requested repeatedly while the view is visible, because the service does not announce changes. */
function useStatus() {
  const { client, isLive } = useCaller();
  return useQuery({
    queryKey: ['status'],
    queryFn: ({ signal }) => client.status({ signal }),
    enabled: isLive,
    refetchInterval: askedMilliseconds,
    staleTime: 0,
  });
}

export function StatusPage() {
  const { data: status, error } = useStatus();
  return (
    <Page title="Status">
      {error !== null && <Failure error={error} />}
      <div className="panels">
        {status?.last_hour && <HourPanel status={status} hour={status.last_hour} />}
        {status && <NowPanel status={status} />}
        <TenantPanel />
        <RecentJobs />
        {status?.nodes !== undefined && status.nodes.length > 1 && (
          <NodesPanel nodes={status.nodes} isSigning={status.signer.enabled} />
        )}
        {status?.canaries !== undefined && status.canaries.length > 0 && <CanariesPanel canaries={status.canaries} />}
        <ServiceMetrics />
      </div>
    </Page>
  );
}
