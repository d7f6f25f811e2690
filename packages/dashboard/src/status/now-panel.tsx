/** Shows the status that the service reports. */
import type { ServiceStatus } from '@vouchbox/client';
import { printable } from '@vouchbox/protocol/vocabulary';
import { amountOf, durationOf } from '@vouchbox/protocol/words';
import { Facts } from '../parts/facts.tsx';
import { Moment } from '../parts/moment.tsx';
import { Panel } from '../parts/panel.tsx';

export function NowPanel({ status }: { readonly status: ServiceStatus }) {
  const { queue, running, signer, log, provider, parked } = status;
  return (
    <Panel title="Service" isTall>
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
          ['Last error of signing', <LastError key="signing" of={signer} />],
          ['Log', logWords(log)],
          ...(log === null || log.witnesses.length === 0 ? [] : [['Witnesses', witnessWords(log)] as const]),
          ...(log === null ? [] : [['Last error of the log', <LastError key="log" of={log} />] as const]),
        ]}
      />
    </Panel>
  );
}

/** The error, and since when it has lasted. */
function LastError({ of: { last_error, last_error_at } }: { readonly of: Failing }) {
  if (last_error === null) return 'none';
  return (
    <>
      {printable(last_error)}, <Moment at={last_error_at} />
    </>
  );
}

type Failing = Pick<ServiceStatus['signer'], 'last_error' | 'last_error_at'>;

function logWords(log: ServiceStatus['log']): string {
  if (log === null) return 'none is kept';
  const waiting = log.waiting === 0 ? '' : `, ${amountOf(log.waiting, 'statement')} wait`;
  return `${printable(log.origin)}: ${amountOf(log.signed_size, 'statement')} under the last head${waiting}`;
}

function witnessWords({ witnesses }: NonNullable<ServiceStatus['log']>): string {
  return witnesses.map(({ name, state }) => `${printable(name)}: ${printable(state)}`).join(', ');
}

function queueWords({ depth, capacity, oldest_age_ms }: ServiceStatus['queue']): string {
  const oldest = depth === 0 ? '' : `, the oldest waits ${durationOf(oldest_age_ms)}`;
  return `${depth} of ${capacity}${oldest}`;
}
