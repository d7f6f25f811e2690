/** How many of the tenant's jobs have not ended, by language. */
import { useQuery } from '@tanstack/react-query';
import { Failure } from '../parts/failure.tsx';
import { Panel } from '../parts/panel.tsx';
import { Table } from '../parts/table.tsx';
import { useCaller } from '../session/session.ts';
import { parseMetrics, type Series, sumBy } from './parse-metrics.ts';

/** Milliseconds between two requests. */
const askedMilliseconds = 5000;

export function TenantPanel() {
  const { client, whoami, isLive } = useCaller();
  const mayRead = whoami.scopes.includes('metrics:read');
  const { data, error } = useQuery({
    queryKey: ['tenant-metrics'],
    queryFn: async ({ signal }) => parseMetrics((await client.metrics({ format: 'prometheus', signal })).text),
    enabled: isLive && mayRead,
    refetchInterval: askedMilliseconds,
  });
  return (
    <Panel title="Your tenant now">
      {!mayRead && <p className="soft">This key has no scope metrics:read.</p>}
      {error !== null && <Failure error={error} />}
      {data && <TenantTable series={data} />}
    </Panel>
  );
}

function TenantTable({ series }: { readonly series: readonly Series[] }) {
  const jobs = series.filter(({ name }) => name === 'svc_tenant_jobs');
  const byStatus = sumBy(jobs, 'status');
  const capacity = series.find(({ name }) => name === 'svc_tenant_queue_capacity')?.value;
  const busy = jobs.filter(({ value }) => value > 0);
  return (
    <>
      <p>
        {byStatus.get('queued') ?? 0} queued of at most {capacity ?? '—'}, {byStatus.get('running') ?? 0} running.
      </p>
      {busy.length > 0 && (
        <Table columns={['Language', 'Status', 'Jobs']}>
          {busy.map(({ labels, value }) => (
            <tr key={`${labels.get('language')} ${labels.get('status')}`}>
              <td>{labels.get('language')}</td>
              <td>{labels.get('status')}</td>
              <td className="number">{value}</td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}
