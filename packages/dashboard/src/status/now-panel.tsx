/** The status as the service says it. */
import type { ServiceStatus } from '@vouchbox/client';
import { printable } from '@vouchbox/protocol/vocabulary';
import { Facts } from '../parts/facts.tsx';
import { Moment } from '../parts/moment.tsx';
import { Panel } from '../parts/panel.tsx';
import { amountOf, durationOf } from '../words/amounts.ts';

export function NowPanel({ status }: { readonly status: ServiceStatus }) {
  const { queue, running, signer, provider, parked } = status;
  return (
    <Panel title="Service">
      <Facts
        facts={[
          ['Status', status.status],
          ['Version', `${printable(status.version)}, up for ${durationOf(status.uptime_seconds * 1000)}`],
          ['Queue', queueWords(queue)],
          ['Running', running],
          ['Cells', `${provider.backend ?? 'no provider'}, ${provider.isolation_class ?? 'no isolation'}`],
          ['Stronger cells not taken', printable(provider.passed_over ?? 'none')],
          ['Parked', `${amountOf(parked.cells, 'cell')}, ${parked.mem_mb} of ${parked.mem_mb_max} MiB`],
          ['Signing', signer.enabled ? `${amountOf(signer.outbox_depth, 'result')} to sign` : 'off'],
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

function queueWords({ depth, capacity, oldest_age_ms }: ServiceStatus['queue']): string {
  const oldest = depth === 0 ? '' : `, the oldest waits ${durationOf(oldest_age_ms)}`;
  return `${depth} of ${capacity}${oldest}`;
}
