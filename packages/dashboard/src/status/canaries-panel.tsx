/** The recent findings of canaries. These are the service's own jobs, which try what cells must refuse. */
import type { ServiceStatus } from '@vouchbox/client';
import { printable } from '@vouchbox/protocol/vocabulary';
import { Moment } from '../parts/moment.tsx';
import { Panel } from '../parts/panel.tsx';
import { Table } from '../parts/table.tsx';

type Canary = NonNullable<ServiceStatus['canaries']>[number];

const COLUMNS = ['Pack (class)', 'Found', 'Ended'];

export function CanariesPanel({ canaries }: { readonly canaries: readonly Canary[] }) {
  return (
    <Panel title="Canaries" isWide>
      <Table columns={COLUMNS}>
        {canaries.map((canary) => (
          <tr key={canary.job_id}>
            <th scope="row">
              {printable(canary.runtime_pack)} ({canary.isolation_class})
              {canary.node === undefined ? '' : `, node ${canary.node}`}
            </th>
            <td>{canary.problem === null ? 'everything was refused' : printable(canary.problem)}</td>
            <td className="number">
              <Moment at={canary.finished_at} isTimeOfDay />
            </td>
          </tr>
        ))}
      </Table>
      <p className="small soft">They try what a cell must refuse. They show such cells, not that of another job.</p>
    </Panel>
  );
}
