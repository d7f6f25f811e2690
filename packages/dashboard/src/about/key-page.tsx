/** The credential of this session. Other credentials cannot be seen here. */
import { printable } from '@vouchbox/protocol/vocabulary';
import { PinKeys } from '../job/pin-keys.tsx';
import { Facts } from '../parts/facts.tsx';
import { Moment } from '../parts/moment.tsx';
import { Page } from '../parts/page.tsx';
import { Panel } from '../parts/panel.tsx';
import { useCaller } from '../session/session.ts';

export function KeyPage() {
  const { whoami } = useCaller();
  return (
    <Page title="Keys">
      <div className="panels">
        <Panel title="Your credential">
          <Facts
            facts={[
              ['Tenant', printable(whoami.tenant)],
              ['Principal', printable(whoami.principal)],
              ['Kind', whoami.auth_method],
              ['Id', <code key="is">{printable(whoami.credential_id)}</code>],
              ['Scopes', <code key="is">{whoami.scopes.join(', ') || 'none'}</code>],
              ['Expires', whoami.expires_at === null ? 'never' : <Moment key="is" at={whoami.expires_at} />],
            ]}
          />
        </Panel>
        <Panel title="Other keys">
          <p>
            No request to the service can list, make or revoke keys, so nobody can do it from here either. Its operator
            does it on the host:
          </p>
          <pre className="source" tabIndex={0} role="region" aria-label="Commands of the operator">
            {
              'npx --no vouchbox keys list\nnpx --no vouchbox keys create --tenant acme\nnpx --no vouchbox keys revoke CREDENTIAL'
            }
          </pre>
        </Panel>
        <Panel title="Pinned public keys" isWide>
          <p>Attestations are checked against these. They are kept in the memory of this page alone.</p>
          <PinKeys />
        </Panel>
      </div>
    </Page>
  );
}
