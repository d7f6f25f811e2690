/** The status as the service says it. */
import type { ServiceStatus } from '@vouchbox/client';
import { printable } from '@vouchbox/protocol/vocabulary';
import { Facts } from '../parts/facts.tsx';
import { Moment } from '../parts/moment.tsx';
import { Panel } from '../parts/panel.tsx';
import { durationOf } from '../words/amounts.ts';

export function NowPanel({ status }: { readonly status: ServiceStatus }) {
  const { queue, running, signer, provider, parked } = status;
  return (
    <Panel title="Service">
      <Facts
        facts={[
          ['Status', status.status],
          ['Version', `${printable(status.version)}, up for ${durationOf(status.uptime_seconds * 1000)}`],
          ['Queue', `${queue.depth} of ${queue.capacity}, the oldest waits ${durationOf(queue.oldest_age_ms)}`],
          ['Running', running],
          ['Cells', `${provider.backend ?? 'no provider'}, ${provider.isolation_class ?? 'no isolation'}`],
          ['Stronger cells not taken', printable(provider.passed_over ?? '—')],
          ['Parked', `${parked.cells} cells, ${parked.mem_mb} of ${parked.mem_mb_max} MiB`],
          ['Signing', signer.enabled ? `${signer.outbox_depth} results wait for it` : 'off'],
          [
            'Last error of signing',
            signer.last_error === null ? (
              'none'
            ) : (
              <>
                {printable(signer.last_error)}, <Moment at={signer.last_error_at} />
              </>
            ),
          ],
        ]}
      />
    </Panel>
  );
}
