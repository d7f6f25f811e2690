/** The living nodes of a service that has several. Each is shown as it described itself in its last heartbeat. */
import type { ServiceStatus } from '@vouchbox/client';
import { printable } from '@vouchbox/protocol/vocabulary';
import { amountOf } from '@vouchbox/protocol/words';
import { Moment } from '../parts/moment.tsx';
import { Panel } from '../parts/panel.tsx';
import { Table } from '../parts/table.tsx';

type NodeStatus = NonNullable<ServiceStatus['nodes']>[number];

const COLUMNS = ['Node (version)', 'Roles', 'Runs', 'Last heartbeat'];

interface NodesPanelProps {
  readonly nodes: readonly NodeStatus[];
  /** Whether the operator has turned signing on. If not, no node can sign. */
  readonly isSigning: boolean;
}

export function NodesPanel({ nodes, isSigning }: NodesPanelProps) {
  return (
    <Panel title="Nodes" isWide>
      <Table columns={COLUMNS}>
        {nodes.map((node) => (
          <tr key={node.node}>
            <th scope="row">
              {node.node} ({printable(node.version)})
            </th>
            <td>{rolesOf(node, isSigning)}</td>
            <td className="number">{workOf(node)}</td>
            <td className="number">
              <Moment at={node.last_beat_at} isTimeOfDay />
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

/** A node's roles. A signer that has lost its key is marked. */
function rolesOf({ roles, signs }: NodeStatus, isSigning: boolean): string {
  return roles.map((role) => (role === 'signer' && isSigning && !signs ? 'signer (cannot sign)' : role)).join(', ');
}

/** How many jobs a node runs, how many it may run, and the class of its cells. */
function workOf({ isolation_class, claims, slots }: NodeStatus): string {
  return isolation_class === null ? 'no programs' : `${claims} of ${amountOf(slots, 'job')}, ${isolation_class}`;
}
